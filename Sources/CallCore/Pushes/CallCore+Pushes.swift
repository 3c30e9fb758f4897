import CallVocabulary
import Determinism
import PushVocabulary

/// The push ledger: at most one push per device and call. Each push that makes the device ring must be reported.
extension CallCore {
    /// Pushes the device, or ends its leg when it is unreachable.
    func pushOrGiveUp(_ leg: Leg) {
        if let push = leg.push {
            // The push was held while the device could be told over its socket.
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

    /// - Parameter decidedAt: nil for a push that was deliberately held, or waited for a restart: its latency is not
    ///   measured.
    private func order(_ push: Push, decidedAt: Instant? = nil) -> PushIntent {
        let call = push.leg.call
        return PushIntent(
            id: push.id, call: call.id, user: push.leg.device.key.user, device: push.leg.device.key.device,
            token: push.record.token, from: call.caller.user, fromName: call.callerName, to: call.to,
            video: call.video, custom: call.descriptions.custom, expiresAt: call.ringsUntil,
            tokenRegisteredAt: push.leg.device.registration(of: push.record.token)?.registeredAt,
            decidedAt: decidedAt)
    }

    func closeIfUnreachable(_ leg: Leg) {
        guard leg.isOpen, leg.call.isUnanswered else { return }
        guard !isReachable(leg) else {
            // It may come back, or be unreachable then.
            if expectsReturn(of: leg.device), leg.deliveryDeadline == nil { awaitDelivery(of: leg) }
            return
        }
        closeLeg(leg, .noDevices, by: nil, isOwnAct: false)
        goOnWithoutLeg(leg.call, .noDevices, by: nil)
    }

    // MARK: Checking before a push is sent

    /// What a check of an unsent push decides.
    private enum Look {
        case send
        /// The push is not needed any more.
        case withdraw
        /// The device has connected by itself: the push is held until that proves lost.
        case hold
        /// The token has moved to another device or was dropped, its device is suspended, or it was already pushed for
        /// this call. The push goes to the device's best token now.
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

    /// The push client can send the push: checks that it is still needed, then commits it as sent.
    func decidePush(_ id: PushID) {
        if let notice = notices[id] { return decide(notice) }
        guard let push = pushes[id], push.record.status == .intended else {
            // A push marked as sent was announced before, dropped and queued again. The push client submits it once it is
            // cleared, or returns it.
            if pushes[id]?.record.status != .sent { effects.append(.dropPush(id)) }
            return
        }
        let look = look(at: push)
        guard look == .send else { return keepBack(push, look) }
        let device = push.leg.device
        change(push) { $0.send(at: now) }
        push.leg.call.spend(push.record.token, by: push.leg)
        if push.mustProbe {
            push.isProbe = true
            device.probe(at: now, timers)
            persist(device)
        }
        effects.append(.confirmPush(id))
    }

    /// The push is on disk as sent, perhaps after a delay: checks a last time, then has its bytes sent.
    func releasePush(_ id: PushID) {
        if let notice = notices[id] { return release(notice) }
        // Otherwise it was withdrawn meanwhile, or the push client gave up waiting.
        guard let push = pushes[id], push.record.status == .sent, push.custody == .committing else { return }
        var look = look(at: push)
        // The device was suspended meanwhile. A probe is decided and counted before it is sent.
        if look == .send, push.mustProbe, !push.isProbe { look = .redirect }
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

    /// Takes back a push as if it had never been sent.
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
        persist(push.leg.device)
    }

    // MARK: Outcomes

    /// Records the outcome that the push client reports.
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

    /// Records an outcome of a push that the device has proved to have arrived: it is not sent again, and its token is
    /// valid.
    private func settle(delivered push: Push, _ outcome: PushOutcome) {
        switch outcome {
        case .accepted: preconditionFailure("the provider says what the device has proved")
        case .unknown(let reason), .rejected(let reason, _), .unsent(let reason): acceptByProof(push, reason)
        case .returned:
            effects.append(.dropPush(push.id))
            acceptByProof(push, "returned as not processed")
        }
    }

    private func acceptByProof(_ push: Push, _ reason: String) {
        change(push) { $0.acceptByProof(reason, reportDueAt: now + timers.report) }
    }

    private func giveUp(_ push: Push, _ reason: String) {
        push.isGivenUp = true
        change(push) { $0.cancel($0.unsentStatus(at: now), reason: reason, at: now) }
        // After an expired push the ring time is over too, and ends the call.
        if push.record.status == .cancelled { closeIfUnreachable(push.leg) }
    }

    private func reject(_ push: Push, _ reason: String, isTokenDead: Bool) {
        change(push) { $0.reject(reason, at: now) }
        record(.pushRejected(push.record), of: push.leg.call)
        takeBackProbe(push)
        if isTokenDead, !isConfirmed(push.record.token, of: push.leg.device, since: push.record.sentAt) {
            dropToken(push.record.token, of: push.leg.device)
        }
        closeIfUnreachable(push.leg)
    }

    /// Whether the device has registered the token since the push was sent: the provider's verdict may be older.
    func isConfirmed(_ token: PushToken, of device: Device, since sentAt: Instant?) -> Bool {
        guard let sentAt, let registration = device.registration(of: token) else { return false }
        return registration.registeredAt > sentAt
    }

    /// Drops a token that the provider has declared invalid.
    func dropToken(_ token: PushToken, of device: Device) {
        // It may have moved to another device, or been dropped after another push.
        guard device.registration(of: token) != nil else { return }
        directory.removeToken(token, from: device)
        persist(device)
        record(.tokenDead(token), of: device)
    }

    private func awaitReport(_ push: Push) {
        guard push.record.report == .awaited, let due = push.record.reportDueAt else { return }
        schedule(.report(push), at: due, in: &push.reportDeadline)
    }

    func reportOverdue(_ push: Push) {
        guard push.record.report == .awaited else { return }
        change(push) { $0.giveUpReport(at: now) }
        record(.pushUnreported(push.record), of: push.leg.call)
        // A push that may never have reached the provider says nothing about the device.
        let device = push.leg.device
        guard push.record.status == .accepted, !device.isDropped,
            push.record.delivery?.countsUnreported == true
        else { return }
        let isSuspendedNow = device.noteUnreported(at: now, limits, timers)
        persist(device)
        guard isSuspendedNow else { return }
        counters.devicesSuspended += 1
        record(.suspended, of: device)
    }

    /// Withdraws the leg's push unless it has been sent.
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

    /// Enters a device's report. Whatever its result and however the device was told, it knows of the call: no push is
    /// needed.
    func enter(_ report: PushReport, from leg: Leg) {
        if report.result != .failed { noteLife(of: leg.device) }
        endDelivery(of: leg)
        withdrawPush(leg, reason: "the device has reported")
        if let push = leg.push { record(report, of: push) }
        leg.device.pushReported(for: leg)
        if report.result == .reported, leg.call.isUnanswered, leg.isOpen { startRinging(leg) }
    }

    private func record(_ report: PushReport, of push: Push) {
        // The system shows an alert: its report was not asked for, and is only a sign of life.
        guard push.record.owesReport else { return }
        switch push.record.report {
        case .awaited, .unreported, .acted:
            cancel(push.reportDeadline)
            push.reportDeadline = nil
            if let error = report.error { spendStorage(error.utf8.count, of: push.leg.device.user) }
            change(push) { $0.report(report.result, error: report.error, at: now) }
            confirmToken(of: push)
        case nil, .reported, .notRequired, .filtered, .reportFailed, .reportedLate: break
        }
    }

    /// Changes a line of the ledger. All changes go through here, so that the counts and the store follow.
    func change(_ line: LedgerLine, _ body: (LedgerLine) -> Void) {
        ledger.remove(status: line.record.status, report: line.record.report)
        body(line)
        ledger.add(status: line.record.status, report: line.record.report)
        line.noteWritten(in: generation)
        persist(.push(line.record))
    }

    // MARK: After a restart

    /// Resumes a push in the state that the last process left.
    func takeUp(_ push: Push) {
        switch push.record.status {
        case .intended: restoreIntended(push)
        case .sent:
            // The bytes may have been sent: the push is never sent again.
            if push.isDelivered { return acceptByProof(push, "the server stopped before the answer") }
            change(push) {
                $0.loseTrack("the server stopped before the answer", at: now, reportDueAt: now + timers.report)
            }
            awaitReport(push)
        case .accepted, .unknown: awaitReport(push)
        case .rejected, .cancelled, .expired: break
        }
    }

    /// Marks the token of a push that was sent for an unanswered call, so that it gets no second push of the call.
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
