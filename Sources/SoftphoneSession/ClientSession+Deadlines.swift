import CallVocabulary

/// Timeouts of calls that the server has not ended.
extension ClientSession {
    /// When a call ends locally, without a session that serves it; nil with one, and when no deadline is known.
    func localDeadline(of entry: CallEntry) -> Duration? {
        guard !isServed(entry.call.id) else { return nil }
        guard entry.call.state.isRingingPhase else { return offlineSince.map { $0 + configuration.callKeepTime } }
        // The answer may have won: then the call continues, and the reply to the repeated answer decides.
        if mayBeAnswered(entry.call.id) { return nil }
        return serverDeadline(of: entry.call) ?? entry.ringsUntil
    }

    /// When to ask the server about a call that it should have ended: its event may be lost on a half-open connection.
    func askingDeadline(of entry: CallEntry) -> Duration? {
        guard isServed(entry.call.id), entry.call.state != .connected, entry.call.expiresAt != entry.askedAbout else {
            return nil
        }
        return serverDeadline(of: entry.call)
    }

    /// The call's deadline plus a grace period, on this phone's clock.
    private func serverDeadline(of call: PhoneCall) -> Duration? {
        guard let expiresAt = call.expiresAt, let offset = serverClockOffset else { return nil }
        return expiresAt - Instant(milliseconds: offset) + Self.ringGrace
    }

    private func mayBeAnswered(_ call: CallID) -> Bool {
        outbox.contains { item in
            if case .call(.answer(call, _)) = item.request { item.wasSent } else { false }
        }
    }

    mutating func expireCalls(now: Duration, effects: inout [SessionEffect]) {
        for entry in calls {
            let id = entry.call.id
            if let deadline = localDeadline(of: entry), deadline <= now {
                let reason: EndReason = entry.call.state.isRingingPhase ? .ringTimeout : .connectionLost
                end(id, reason, certainty: .guessed, effects: &effects)
            } else if let deadline = askingDeadline(of: entry), deadline <= now, let index = index(of: id) {
                calls[index].askedAbout = entry.call.expiresAt
                enqueue(.get(id), ticket: nil, now: now, effects: &effects)
            }
        }
    }
}
