import CallVocabulary
import Determinism

/// The push ledger: at most one push per device and call, and a word of the device for each that rings by itself.
extension CallCore {
    /// Wakes the device, or, when nothing can reach it any more, closes its leg.
    func pushOrGiveUp(_ leg: Leg) {
        if let push = leg.push {
            // Held back while the device seemed to be told over its socket.
            if push.record.status == .intended, !push.isQueued { queue(push) }
            return closeIfUnreachable(leg)
        }
        guard let token = leg.device.token(for: .call) else { return closeIfUnreachable(leg) }
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
        push.isQueued = true
        effects.append(.queueNewPush(order(push, decidedAt: now)))
        if leg.call.state == .routing {
            leg.call.wake()
            persist(leg.call)
            if leg.call.isAnnounced { tellCaller(of: leg.call, by: nil) }
        }
    }

    private func queue(_ push: Push) {
        push.isQueued = true
        effects.append(.queuePush(order(push)))
    }

    /// - Parameter decidedAt: nil where it has waited on purpose since, or for the next start.
    private func order(_ push: Push, decidedAt: Instant? = nil) -> PushOrder {
        let call = push.leg.call
        return PushOrder(
            id: push.id, call: call.id, user: push.leg.device.key.user, device: push.leg.device.key.device,
            token: push.record.token, from: call.caller.user, fromName: call.callerName, video: call.video,
            custom: call.offer.custom, expiresAt: call.ringsUntil,
            tokenRegisteredAt: push.leg.device.registration(of: push.record.token)?.registeredAt,
            decidedAt: decidedAt)
    }

    /// Nobody can tell the device any more: neither a session, now or resumed, nor a push that may have arrived.
    func closeIfUnreachable(_ leg: Leg) {
        guard leg.isOpen, leg.call.isUnanswered, leg.device.session(for: leg.call) == nil else { return }
        switch leg.push?.record.status {
        case .sent, .accepted, .unknown, .intended: return
        case nil, .rejected, .cancelled, .expired: break
        }
        closeLeg(leg, .noDevices, by: nil, isOwnAct: false)
        goOnWithoutLeg(leg.call, .noDevices, by: nil)
    }

    /// The last look before the wire: is the push still wanted?
    func decidePush(_ id: PushID) {
        if let notice = notices[id] { return decide(notice) }
        guard let push = pushes[id], push.record.status == .intended || push.record.status == .sent else {
            return effects.append(.dropPush(id))
        }
        let leg = push.leg
        let isWanted = isWanted(push)
        if push.record.status == .sent {
            effects.append(.dropPush(id))
            // It is on the wire, or it came back and the device has reported it: then it was delivered.
            if !push.isUnheard { change(push) { $0.accept(at: now, reportDueAt: now) } }
            return
        }
        guard isWanted else {
            push.isQueued = false
            effects.append(.dropPush(id))
            return change(push) { $0.cancel($0.unsentStatus(at: now), reason: "not wanted any more", at: now) }
        }
        if leg.isBeingTold {
            // It has come online by itself: hold the push until that proves lost.
            push.isQueued = false
            return effects.append(.dropPush(id))
        }
        guard leg.device.mayBeSent(to: push.record.token, for: .call) else { return redirect(push) }
        change(push) { $0.send(at: now) }
        effects.append(.transmitPush(id))
    }

    private func isWanted(_ push: Push) -> Bool {
        let leg = push.leg
        return leg.isOpen && leg.call.isUnanswered && !leg.isAwake && now < push.record.expiresAt
    }

    /// The token is another device's now, or nobody's, or its pushes are not reported: the push goes to where the
    /// device is to be reached now.
    private func redirect(_ push: Push) {
        effects.append(.dropPush(push.id))
        guard let token = push.leg.device.token(for: .call) else {
            return giveUp(push, "the device has no token left for it")
        }
        change(push) { $0.redirect(to: token) }
        queue(push)
    }

    /// What the push client says became of a push.
    func settlePush(_ id: PushID, _ outcome: PushOutcome) {
        if let notice = notices[id] { return settle(notice, outcome) }
        guard let push = pushes[id] else { return }
        switch (outcome, push.record.status) {
        case (.unsent(let reason), .intended): giveUp(push, reason)
        case (_, .sent):
            switch outcome {
            case .accepted:
                change(push) { $0.accept(at: now, reportDueAt: now + timers.report) }
                awaitReport(push)
            case .unknown(let reason):
                change(push) { $0.loseTrack(reason, at: now, reportDueAt: now + timers.report) }
                awaitReport(push)
            case .rejected(let reason, let isTokenDead): reject(push, reason, isTokenDead: isTokenDead)
            case .returned:
                // A report proves that it was processed after all; then there is nothing to send again.
                guard push.isUnheard else { return }
                change(push) { $0.takeBack() }
                if !isWanted(push) { withdrawPush(push.leg, reason: "not wanted any more") }
            case .unsent(let reason):
                guard push.isUnheard else {
                    // The report proves that it did arrive, by an earlier try.
                    return change(push) { $0.accept(at: now, reportDueAt: now) }
                }
                change(push) { $0.takeBack() }
                giveUp(push, reason)
            }
        case (_, .intended), (_, .accepted), (_, .rejected), (_, .unknown), (_, .cancelled), (_, .expired):
            break
        }
    }

    private func giveUp(_ push: Push, _ reason: String) {
        push.isQueued = false
        change(push) { $0.cancel($0.unsentStatus(at: now), reason: reason, at: now) }
        // Where it has expired the call's ring time is over too, and that is how the call ends.
        if push.record.status == .cancelled { closeIfUnreachable(push.leg) }
    }

    private func reject(_ push: Push, _ reason: String, isTokenDead: Bool) {
        guard push.isUnheard else {
            // The device has reported it, so it was delivered whatever this answer says.
            return change(push) { $0.accept(at: now, reportDueAt: now) }
        }
        change(push) { $0.reject(reason, at: now) }
        if isTokenDead { dropToken(push.record.token, of: push.leg.device) }
        closeIfUnreachable(push.leg)
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
        device.unreportedStreak += 1
        if device.unreportedStreak >= limits.unreportedStreak, device.suspendedAt == nil {
            device.suspendedAt = now
            counters.devicesSuspended += 1
        }
        persist(.device(device.record))
    }

    /// The push of this leg is not needed: if it has not been sent, it never is.
    func withdrawPush(_ leg: Leg, reason: String) {
        guard let push = leg.push, push.record.status == .intended else { return }
        if push.isQueued { effects.append(.dropPush(push.id)) }
        push.isQueued = false
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
        case .awaited, .unreported:
            cancel(&push.reportDeadline)
            change(push) { $0.report(report.result, error: report.error, at: now) }
            let device = push.leg.device
            guard report.result != .failed, device.unreportedStreak > 0 else { return }
            device.unreportedStreak = 0
            persist(.device(device.record))
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
            change(push) {
                $0.loseTrack("the server stopped before the answer", at: now, reportDueAt: now + timers.report)
            }
            awaitReport(push)
        case .accepted, .unknown: awaitReport(push)
        case .rejected, .cancelled, .expired: break
        }
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
