import CallCore
import CallVocabulary
import RecordModel

/// What must hold of a push about a missed call: asked for, to a device that hears of it in no other way, and seldom.
extension Inspector {
    /// Before it takes the place of the record that was there.
    func check(notice push: PushRecord) {
        if push.status == .sent, push.purpose == .sync { coverage.count("notice.sync") }
        if push.status == .sent, push.purpose == .missedCall { coverage.count("notice.missed_call") }
        guard decided.pushes[push.id] == nil else { return }
        coverage.count("notice.intended")
        guard let call = decided.calls[push.call], call.state == .ended else {
            return violate("a notice of a call that is not over")
        }
        if !decided.missed.contains(where: { $0.user == push.device.user && $0.call.call == call.id }) {
            violate("a notice of a call that was not missed")
        }
        if isOnline(push) { violate("a notice to a device that is online") }
        if push.expiresAt != push.intendedAt + timers.notice { violate("a notice that is good for another time") }
        let policy = decided.users[push.device.user]?.policy ?? userPolicy
        switch (policy.missedCalls, push.purpose) {
        case (.alert, .missedCall) where !policy.doNotDisturb: break
        case (.background, .sync): break
        case (.off, _), (.alert, _), (.background, _): violate("a notice that the user has not asked for")
        }
    }

    /// A session that has just been opened tells the device what open notices would have.
    func checkNotices(to key: DeviceKey, openedWith scope: SessionGrant.Scope) {
        for id in decided.openPushes {
            guard let push = decided.pushes[id], push.device == key, isTold(of: push, scope) else { continue }
            if push.status == .intended { violate("a notice waits for a device that has opened a session") }
            mootNotices.insert(id)
        }
    }

    func checkTransmission(ofNotice push: PushRecord) {
        if isOnline(push) { violate("transmitted a notice to a device that is online") }
        if mootNotices.contains(push.id) { violate("transmitted a notice to a device that has opened a session since") }
        if push.purpose == .sync { checkBudget(of: push.device) }
    }

    /// Over all processes.
    private func checkBudget(of device: DeviceKey) {
        let sent = syncsThatCount(for: device)
        if sent > 2 { violate("\(sent) background pushes to a device in one window") }
        if sent == 2 { coverage.count("notice.budget_spent") }
    }

    private func syncsThatCount(for device: DeviceKey) -> Int {
        decided.pushes.values.count { push in
            push.device == device && push.purpose == .sync
                && push.sentAt.map { $0 + timers.backgroundWindow > now } == true
        }
    }

    /// Not with the push client: only the budget keeps a push back, and a timer that is late.
    func checkHeld(_ push: PushRecord, areDeadlinesDone: Bool) {
        coverage.count("notice.held")
        if push.purpose != .sync || areDeadlinesDone && syncsThatCount(for: push.device) < 2 {
            violate("a notice waits and nobody is going to send it")
        }
    }

    /// Whether it has a socket over which it hears of the call.
    private func isOnline(_ push: PushRecord) -> Bool {
        connections.values.contains { log in
            guard let session = sessions[log.session], session.key == push.device else { return false }
            return isTold(of: push, session.scope)
        }
    }

    private func isTold(of push: PushRecord, _ scope: SessionGrant.Scope) -> Bool {
        switch (scope, push.purpose) {
        case (_, .call): false
        case (.full, .missedCall), (.full, .sync): true
        case (.call(let only), .missedCall): only == push.call
        case (.call, .sync): false
        }
    }

    // MARK: Health

    /// The streak grows by a push whose report was owed and is overdue, and by nothing else.
    func check(health device: DeviceRecord) {
        if device.suspendedAt != nil, device.nextProbeAt == nil { violate("a device is suspended without an end") }
        if device.suspendedAt == nil, device.probes > 0 || device.nextProbeAt != nil { violate("a probe of nobody") }
        let before = decided.devices[device.key]?.unreportedStreak ?? 0
        guard device.unreportedStreak > before else { return }
        let overdue = decided.pushes.values.contains { push in
            push.device == device.key && push.report == .unreported && push.reportedAt == now && push.owesReport
        }
        let silent = decided.pushes.values.count { push in
            push.device == device.key && push.owesReport
                && (push.report == .unreported || push.report == .reportedLate)
                && push.reportedAt.map { at in lastLife[device.key].map { $0 <= at } ?? true } == true
        }
        if silent < device.unreportedStreak { violate("a streak counts pushes from before the device's last act") }
        if !overdue || device.unreportedStreak > before + 1 { violate("a streak grew without an unreported push") }
    }
}
