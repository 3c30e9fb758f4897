import CallCore
import CallVocabulary
import RecordModel

/// Invariants of pushes about missed calls: requested by the user, to offline devices only, and within the budget.
extension Inspector {
    /// Called before the record replaces its predecessor.
    func check(notice push: PushRecord) {
        if push.status == .sent, push.purpose == .sync { coverage.count("notice.sync") }
        if push.status == .sent, push.purpose == .missedCall { coverage.count("notice.missed_call") }
        guard decided.pushes[push.id] == nil else { return }
        coverage.count("notice.intended")
        guard let call = decided.calls[push.call], call.state == .ended else {
            return violate("a notice of a call that has not ended")
        }
        if !decided.missed.contains(where: { $0.user == push.device.user && $0.call.call == call.id }) {
            violate("a notice of a call that is not missed")
        }
        if isOnline(push) { violate("a notice to a device that is online") }
        if push.expiresAt != push.intendedAt + timers.notice { violate("a notice with another expiration") }
        let policy = decided.users[push.device.user]?.policy ?? userPolicy
        switch (policy.missedCalls, push.purpose) {
        case (.alert, .missedCall) where !policy.doNotDisturb: break
        case (.background, .sync): break
        case (.off, _), (.alert, _), (.background, _): violate("a notice that the user's policy excludes")
        }
    }

    /// A new session makes the device's open notices obsolete.
    func checkNotices(to key: DeviceKey, openedWith scope: SessionGrant.Scope) {
        for id in decided.openPushes {
            guard let push = decided.pushes[id], push.device == key, isTold(of: push, scope) else { continue }
            if push.status == .intended { violate("a notice is queued for a device that has opened a session") }
            mootNotices.insert(id)
        }
    }

    func checkTransmission(ofNotice push: PushRecord) {
        if isOnline(push) { violate("transmitted a notice to a device that is online") }
        if mootNotices.contains(push.id) { violate("transmitted a notice to a device that has opened a session since") }
        if push.purpose == .sync { checkBudget(of: push.device) }
    }

    /// Across all processes.
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

    /// Of notices that are not with the push client: only the budget or a late timer may delay them.
    func checkHeld(_ push: PushRecord, areDeadlinesDone: Bool) {
        coverage.count("notice.held")
        if push.purpose != .sync || areDeadlinesDone && syncsThatCount(for: push.device) < 2 {
            violate("a notice is intended, and nothing will send it")
        }
    }

    /// Whether the device has a socket that tells it about the call.
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

    /// The streak grows only by a push with an overdue report.
    func check(health device: DeviceRecord) {
        if device.suspendedAt != nil, device.nextProbeAt == nil { violate("a suspended device has no next probe") }
        if device.suspendedAt == nil, device.probes > 0 || device.nextProbeAt != nil { violate("an unsuspended probe") }
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
        if silent < device.unreportedStreak { violate("a streak counts pushes sent before the device's last activity") }
        if !overdue || device.unreportedStreak > before + 1 { violate("a streak grew without an unreported push") }
    }
}
