import CallVocabulary
import Determinism
import PushVocabulary

/// The push ledger: at most one push per device and call, and a word of the device for each that rings by itself.
extension CallCore {
    /// Wakes the device, or, when nothing can reach it any more, closes its leg.
    func pushOrGiveUp(_ leg: Leg) {
        if let push = leg.push {
            // Held back while the device seemed to be told over its socket.
            if push.record.status == .intended, push.custody == .none { queue(push) }
            if hasUnusedPush(leg), let token = token(for: leg) {
                change(push) { $0.reopen(to: token) }
                queue(push)
            }
            return closeIfUnreachable(leg)
        }
        guard let token = token(for: leg) else { return closeIfUnreachable(leg) }
        if let bound = pushBound(of: leg.device, in: leg.call) {
            counters.hit(bound.limit)
            return closeIfUnreachable(leg)
        }
        spendPush(of: leg)
        let push = Push(leg: leg, token: token, intendedAt: now)
        leg.push = push
        pushes[push.id] = push
        ledger.add(status: push.record.status, report: push.record.report)
        counters.pushesIntended += 1
        persist(.push(push.record))
        if !leg.isAwake {
            leg.wake()
            persist(leg)
        }
        push.custody = .queued
        effects.append(.queueNewPush(order(push, decidedAt: now)))
        if leg.call.state == .routing {
            leg.call.wake()
            persist(leg.call)
            if leg.call.isAnnounced { tellCaller(of: leg.call, by: nil) }
        }
    }

    private func queue(_ push: Push) {
        push.custody = .queued
        effects.append(.queuePush(order(push)))
    }

    /// - Parameter decidedAt: nil where it has waited on purpose since, or for the next start.
    private func order(_ push: Push, decidedAt: Instant? = nil) -> PushIntent {
        let call = push.leg.call
        return PushIntent(
            id: push.id, call: call.id, user: push.leg.device.key.user, device: push.leg.device.key.device,
            token: push.record.token, from: call.caller.user, fromName: call.callerName, video: call.video,
            custom: call.descriptions.custom, expiresAt: call.ringsUntil,
            tokenRegisteredAt: push.leg.device.registration(of: push.record.token)?.registeredAt,
            decidedAt: decidedAt)
    }

    func closeIfUnreachable(_ leg: Leg) {
        guard leg.isOpen, leg.call.isUnanswered, !isReachable(leg) else { return }
        closeLeg(leg, .noDevices, by: nil, isOwnAct: false)
        goOnWithoutLeg(leg.call, .noDevices, by: nil)
    }

    // MARK: Looking once more

    /// What a look at a push that is not out decides.
    private enum Look {
        case send
        /// Nobody needs it any more.
        case withdraw
        /// The device has come online by itself: it is held until that proves lost.
        case hold
        /// The token is another device's now, or nobody's, or its pushes are not reported, or it has had its one push of
        /// this call: the push goes to where the device is to be reached now.
        case redirect
    }

    private func look(at push: Push) -> Look {
        let (leg, token) = (push.leg, push.record.token)
        guard isWanted(push) else { return .withdraw }
        if leg.isBeingTold { return .hold }
        let isAllowed =
            push.isProbe
            ? leg.device.registration(of: token) != nil : leg.device.mayBeSent(to: token, for: .call, at: now)
        return isAllowed && !leg.call.isSpent(token, butBy: leg) ? .send : .redirect
    }

    private func isWanted(_ push: Push) -> Bool {
        let leg = push.leg
        return leg.isOpen && leg.call.isUnanswered && !leg.isAttended && now < push.record.expiresAt
    }

    /// The push client has room for it: a look, and then the commit that says it is sent.
    func decidePush(_ id: PushID) {
        if let notice = notices[id] { return decide(notice) }
        guard let push = pushes[id], push.record.status == .intended else {
            // One that is being committed is announced already.
            if pushes[id]?.custody != .committing { effects.append(.dropPush(id)) }
            return
        }
        let look = look(at: push)
        guard look == .send else { return keepBack(push, look) }
        let device = push.leg.device
        change(push) { $0.send(at: now) }
        push.leg.call.spend(push.record.token, by: push.leg)
        if push.record.owesReport, device.suspendedAt != nil {
            push.isProbe = true
            device.probe(at: now, timers)
            persist(.device(device.record))
        }
        effects.append(.confirmPush(id))
    }

    /// It is on disk as sent. That may have taken a while: the last look, and then its bytes leave.
    func releasePush(_ id: PushID) {
        if let notice = notices[id] { return release(notice) }
        // Else it was withdrawn meanwhile, or the push client could not wait for it.
        guard let push = pushes[id], push.record.status == .sent, push.custody == .committing else { return }
        let look = look(at: push)
        guard look == .send else {
            takeBack(push)
            return keepBack(push, look)
        }
        push.release()
        effects.append(.transmitPush(id))
    }

    private func keepBack(_ push: Push, _ look: Look) {
        push.custody = .none
        effects.append(.dropPush(push.id))
        switch look {
        case .send, .hold: break
        case .withdraw:
            change(push) { $0.cancel($0.unsentStatus(at: now), reason: "not wanted any more", at: now) }
        case .redirect:
            guard let token = token(for: push.leg) else {
                return giveUp(push, "the device has no token left for it")
            }
            change(push) { $0.redirect(to: token) }
            queue(push)
        }
    }

    /// As if it had never been sent.
    private func takeBack(_ push: Push) {
        let (leg, token) = (push.leg, push.record.token)
        change(push) { $0.takeBack() }
        leg.call.giveBack(token)
        takeBackProbe(push)
    }

    private func takeBackProbe(_ push: Push) {
        guard push.isProbe else { return }
        push.isProbe = false
        push.leg.device.takeBackProbe(at: now)
        persist(.device(push.leg.device.record))
    }

    // MARK: Outcomes

    /// What the push client says became of a push.
    func settlePush(_ id: PushID, _ outcome: PushOutcome) {
        if let notice = notices[id] { return settle(notice, outcome) }
        guard let push = pushes[id] else { return }
        switch push.record.status {
        case .intended: if case .unsent(let reason) = outcome { giveUp(push, reason) }
        case .sent: settle(sent: push, outcome)
        case .accepted, .rejected, .unknown, .cancelled, .expired: break
        }
    }

    private func settle(sent push: Push, _ outcome: PushOutcome) {
        if push.isDelivered, outcome != .accepted { return settle(delivered: push, outcome) }
        switch outcome {
        case .accepted:
            change(push) { $0.accept(at: now, reportDueAt: now + timers.report) }
            awaitReport(push)
        case .unknown(let reason):
            change(push) { $0.loseTrack(reason, at: now, reportDueAt: now + timers.report) }
            awaitReport(push)
        case .rejected(let reason, let isTokenDead): reject(push, reason, isTokenDead: isTokenDead)
        case .returned:
            takeBack(push)
            if !isWanted(push) { withdrawPush(push.leg, reason: "not wanted any more") }
        case .unsent(let reason):
            takeBack(push)
            giveUp(push, reason)
        }
    }

    /// The device has proved that the push arrived, whatever this outcome says: nothing is sent again, and the token is
    /// good.
    private func settle(delivered push: Push, _ outcome: PushOutcome) {
        switch outcome {
        case .accepted: preconditionFailure("the provider says what the device has proved")
        case .unknown(let reason), .rejected(let reason, _): change(push) { $0.acceptByProof(reason) }
        case .returned:
            effects.append(.dropPush(push.id))
            change(push) { $0.acceptByProof("returned as not processed") }
        case .unsent(let reason): change(push) { $0.acceptByProof(reason) }
        }
    }

    private func giveUp(_ push: Push, _ reason: String) {
        push.isGivenUp = true
        change(push) { $0.cancel($0.unsentStatus(at: now), reason: reason, at: now) }
        // Where it has expired the call's ring time is over too, and that is how the call ends.
        if push.record.status == .cancelled { closeIfUnreachable(push.leg) }
    }

    private func reject(_ push: Push, _ reason: String, isTokenDead: Bool) {
        change(push) { $0.reject(reason, at: now) }
        takeBackProbe(push)
        if isTokenDead, !isConfirmed(push.record.token, of: push.leg.device, since: push.record.sentAt) {
            dropToken(push.record.token, of: push.leg.device)
        }
        closeIfUnreachable(push.leg)
    }

    /// Whether the device has registered the token again since the push to it was sent: the provider's word may be older.
    func isConfirmed(_ token: PushToken, of device: Device, since sentAt: Instant?) -> Bool {
        guard let sentAt, let registration = device.registration(of: token) else { return false }
        return registration.registeredAt > sentAt
    }

    /// The provider says that nobody is reached by it any more.
    func dropToken(_ token: PushToken, of device: Device) {
        directory.removeToken(token, from: device)
        persist(.device(device.record))
    }

    private func awaitReport(_ push: Push) {
        guard push.record.report == .awaited, let due = push.record.reportDueAt else { return }
        push.reportDeadline = deadlines.add(.report(push), at: due)
    }

    func reportOverdue(_ push: Push) {
        guard push.record.report == .awaited else { return }
        change(push) { $0.giveUpReport(at: now) }
        // What may never have reached the provider says nothing of the device.
        guard push.record.status == .accepted else { return }
        let device = push.leg.device
        if device.noteUnreported(at: now, limits, timers) { counters.devicesSuspended += 1 }
        persist(.device(device.record))
    }

    /// The push of this leg is not needed: if no byte of it has left, none does.
    func withdrawPush(_ leg: Leg, reason: String) {
        guard let push = leg.push else { return }
        if push.record.status == .sent, push.custody == .committing { takeBack(push) }
        guard push.record.status == .intended else { return }
        if push.custody != .none { effects.append(.dropPush(push.id)) }
        change(push) { $0.cancel($0.unsentStatus(at: now), reason: reason, at: now) }
    }

    func takeReport(
        _ report: PushReport, _ call: Call, _ party: PartyRole, _ connection: ConnectionID, _ request: RequestID
    ) {
        guard case .callee(let leg) = party, leg.record.push == report.push else {
            return refuseStranger(connection, request)
        }
        enter(report, from: leg)
        let (state, reason) = standing(of: call, for: party)
        reply(connection, request, .callState(state, reason))
    }

    /// Whatever it says, and whichever way the device was told: it knows, so it need not be pushed any more.
    func enter(_ report: PushReport, from leg: Leg) {
        if report.result != .failed { noteLife(of: leg.device) }
        endDelivery(of: leg)
        withdrawPush(leg, reason: "the device has reported")
        if let push = leg.push { record(report, of: push) }
        leg.device.pushReported(for: leg)
        if report.result == .reported, leg.call.isUnanswered, leg.isOpen { startRinging(leg) }
    }

    private func record(_ report: PushReport, of push: Push) {
        // An alert is shown by the system: the app's word on it was not asked for, and is a sign of life only.
        guard push.record.owesReport else { return }
        switch push.record.report {
        case .awaited, .unreported, .acted:
            cancel(&push.reportDeadline)
            let due = (push.record.answeredAt ?? push.record.sentAt).map { $0 + timers.report }
            let isLate = due.map { $0 <= now } ?? false
            change(push) { $0.report(report.result, error: report.error, isLate: isLate, at: now) }
            confirmToken(of: push)
        case nil, .reported, .notRequired, .filtered, .reportFailed, .reportedLate: break
        }
    }

    /// The one way a line of the ledger changes: its counts and the store follow.
    func change(_ line: LedgerLine, _ body: (LedgerLine) -> Void) {
        ledger.remove(status: line.record.status, report: line.record.report)
        body(line)
        ledger.add(status: line.record.status, report: line.record.report)
        persist(.push(line.record))
    }

    // MARK: After a restart

    /// Takes a push up where the last process left it.
    func takeUp(_ push: Push) {
        switch push.record.status {
        case .intended: restoreIntended(push)
        case .sent:
            // The bytes may have left, or not: it is never sent again.
            if push.isDelivered { return change(push) { $0.acceptByProof("the server stopped before the answer") } }
            change(push) {
                $0.loseTrack("the server stopped before the answer", at: now, reportDueAt: now + timers.report)
            }
            awaitReport(push)
        case .accepted, .unknown: awaitReport(push)
        case .rejected, .cancelled, .expired: break
        }
    }

    /// A token that had its push of an unanswered call in the last process has had it in this one.
    func noteRestored(_ push: Push) {
        guard push.record.sentAt != nil, push.leg.call.isUnanswered else { return }
        push.leg.call.spend(push.record.token, by: push.leg)
    }

    private func restoreIntended(_ push: Push) {
        if isWanted(push) {
            queue(push)
        } else {
            change(push) {
                $0.cancel($0.unsentStatus(at: now), reason: "the server stopped before it was sent", at: now)
            }
        }
    }
}
