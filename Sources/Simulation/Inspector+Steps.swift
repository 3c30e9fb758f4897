import CallCore
import CallVocabulary
import PushVocabulary
import RecordModel

/// The checks of the whole state after a step.
extension Inspector {
    /// - Parameter areDeadlinesDone: whether all deadlines up to `now` have passed.
    func finishStep(_ core: CallCore, now: Instant, areDeadlinesDone: Bool) {
        for violation in core.ledgerViolations { violate(violation) }
        checkLedger(core.ledger)
        checkMemory(core, now, areDeadlinesDone: areDeadlinesDone)
        checkWaiting(areDeadlinesDone: areDeadlinesDone)
        if core.liveCalls != decided.liveCalls.count {
            violate("the core has \(core.liveCalls) live calls, the records \(decided.liveCalls.count)")
        }
        if areDeadlinesDone { checkDeadlines(now) }
        if !newCalls.isEmpty { checkNewCalls() }
        for id in forwardedCalls { checkForward(id) }
        for id in huntingCalls { checkTurns(id, now) }
        for connection in opened { checkOffers(on: connection) }
        for id in changedCalls.sorted() {
            if let call = decided.calls[id], let text = RecordLaws.untold(call, in: decided) { violate(text) }
        }
        for user in revoked where memory.sessions.values.contains(where: { $0.key.user == user }) {
            violate("a session outlived its user's tokens")
        }
        for user in revoked where decided.devices.values.contains(where: { $0.key.user == user && !$0.tokens.isEmpty })
        {
            violate("a device that was logged out has a push token")
        }
        checkTokens()
        clearStep()
    }

    /// A push token belongs to one device.
    private func checkTokens() {
        guard hasChangedTokens else { return }
        var holders: [PushToken.Address: DeviceKey] = [:]
        for device in decided.devices.values {
            for token in device.tokens.map(\.token.address) {
                if let other = holders.updateValue(device.key, forKey: token), other != device.key {
                    violate("\(device.key) and \(other) both have the token \(token.token)")
                }
            }
        }
    }

    /// The ledger counts the pushes of calls in memory: all open ones, and some closed ones.
    private func checkLedger(_ ledger: LedgerCounts) {
        var open = LedgerCounts()
        for id in decided.openPushes {
            if let push = decided.pushes[id] { open.add(status: push.status, report: push.report) }
        }
        for status in ProviderStatus.allCases {
            for report in [nil] + ReportStatus.allCases.map(Optional.some) {
                let held = ledger.count(status, report)
                let isOpen = status == .intended || status == .sent || report == .awaited
                if isOpen ? held != open.count(status, report) : held > books.count(status, report) {
                    violate(
                        "the ledger holds \(held) that are \(status) and \(report?.rawValue ?? "-"), the records not")
                }
            }
        }
    }

    /// Checks that a push not yet sent is still needed: its device neither rings nor has left, and the call is
    /// unanswered. The push client has it, unless a socket may tell the device about the call.
    private func checkWaiting(areDeadlinesDone: Bool) {
        for id in decided.openPushes {
            guard let push = decided.pushes[id], push.status == .intended else { continue }
            if decided.devices[push.device] == nil { violate("a push is intended for a dropped device") }
            guard push.purpose == .call else {
                if !queued.contains(id) { checkHeld(push, areDeadlinesDone: areDeadlinesDone) }
                continue
            }
            if !queued.contains(id), !isOnline(push.device) { violate("a push is intended, and nothing will send it") }
            switch decided.leg(push.call, push.device)?.state {
            case .idle, .offered, .waking:
                if decided.calls[push.call]?.state.isRingingPhase == true { continue }
            case .ringing:
                // The app may be gone and not learn of the end.
                if !isAttended(push), decided.calls[push.call]?.state.isRingingPhase == true { continue }
            case .answered, .ended, nil: break
            }
            violate("a push is intended that is no longer needed")
        }
    }

    /// Whether the push's device has a socket that tells it about the call.
    func isAttended(_ push: PushRecord) -> Bool {
        connections.values.contains { log in
            guard let session = sessions[log.session], session.key == push.device else { return false }
            if case .call(let only) = session.scope { return only == push.call }
            return true
        }
    }

    private func isOnline(_ device: DeviceKey) -> Bool {
        connections.values.contains { sessions[$0.session]?.key == device }
    }

    private func checkDeadlines(_ now: Instant) {
        // A call waits for the lookup of the target that it is forwarded to.
        let mayWait = !memory.lookUps.isEmpty
        for id in decided.liveCalls {
            guard let call = decided.calls[id] else { continue }
            if call.state.isRingingPhase, call.ringsUntil <= now, !mayWait {
                violate("\(id) rings beyond its deadline")
            }
            if call.state == .answered, let until = call.connectsUntil, until <= now {
                violate("\(id) connects beyond its deadline")
            }
            if call.state.isRingingPhase, let next = call.hunt?.nextAt, next <= now {
                violate("\(id) missed a hunt step")
            }
        }
        for id in decided.openPushes {
            guard let push = decided.pushes[id] else { continue }
            if push.status == .intended, push.expiresAt <= now, !mayWait {
                violate("a push is intended beyond its ring time")
            }
            if push.status != .sent, let due = push.reportDueAt, due <= now { violate("a report is awaited too long") }
        }
    }

    /// A new session is offered every live call with a leg of its device.
    private func checkOffers(on connection: ConnectionID) {
        guard let log = connections[connection], !log.isResumed, let session = sessions[log.session] else { return }
        for id in decided.liveCalls {
            if case .call(let only) = session.scope, only != id { continue }
            guard let call = decided.calls[id], call.state.isRingingPhase else { continue }
            switch decided.leg(id, session.key)?.state {
            case .idle, .offered, .waking, .ringing:
                if !session.offered.contains(id) { violate("\(id) was not offered to a new session of its device") }
            case .answered, .ended, nil: break
            }
        }
    }
}
