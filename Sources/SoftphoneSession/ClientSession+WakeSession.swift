import CallVocabulary

/// The scope of the present token.
enum Grant: Equatable, Sendable {
    case full
    /// A push's wake token: one call only.
    case call(CallID)
}

/// Sessions opened with a push's wake token, because the app had no user token in time. They are limited to one call,
/// and replaced by full sessions once the app has a token.
extension ClientSession {
    /// How long to wait for the app's own token when a wake token is available.
    static let wakePatience: Duration = .seconds(3)

    /// A wake token that is useful now.
    var wakeGrant: (call: CallID, token: String)? {
        if let entry = calls.last(where: { $0.wakeToken != nil }), let token = entry.wakeToken {
            return (entry.call.id, token)
        }
        // The call has ended, but its push still has to be reported.
        guard let late = lateWake, outbox.contains(where: { $0.request.call == late.call && $0.isUnsaid }) else {
            return nil
        }
        return (late.call, late.token)
    }

    /// Whether the present session accepts commands about `call`.
    func isServed(_ call: CallID) -> Bool { isOpen && (grant == .full || grant == .call(call)) }

    /// Whether the present session accepts `request`.
    func isServed(_ request: ClientRequest) -> Bool {
        guard isOpen else { return false }
        guard case .call(let scope) = grant else { return true }
        return switch request {
        case .open, .session: true
        case .call(let request): request.call == scope
        case .owner: false
        }
    }

    /// Schedules the next request for the app's own token.
    mutating func planUpgrade(now: Duration) {
        upgradeDue = grant == .full ? nil : now + configuration.backoffBase + tokenBackoff.next(using: &random)
    }

    mutating func upgradeIsDue(now: Duration, effects: inout [SessionEffect]) {
        // Ask again if the app never answers.
        upgradeDue = now + configuration.connectTimeout
        effects.append(.fetchToken(attempt: attempt))
    }

    /// Replaces the limited session by a full one, with the app's own token.
    mutating func upgrade(_ token: String, now: Duration, effects: inout [SessionEffect]) {
        // Requests in flight are answered soon: wait for them.
        if outbox.contains(where: { $0.sentAt != nil }) { return planUpgrade(now: now) }
        sendAck(effects: &effects)
        effects.append(.disconnect)
        attempt += 1
        upgradeDue = nil
        resumable = nil
        grant = .full
        connection = .connecting(token: token, deadline: now + configuration.connectTimeout)
        effects.append(.connect(attempt: attempt))
        commandsLost(now: now, effects: &effects)
    }

    /// Handles a refused wake token: another one, or the app's own, may be accepted.
    mutating func wakeTokenRefused(
        _ call: CallID, reason: String, hasSocket: Bool? = nil, now: Duration, effects: inout [SessionEffect]
    ) {
        if let index = index(of: call) { calls[index].wakeToken = nil }
        if lateWake?.call == call { lateWake = nil }
        lose(reason: reason, hasSocket: hasSocket, now: now, effects: &effects)
    }
}
