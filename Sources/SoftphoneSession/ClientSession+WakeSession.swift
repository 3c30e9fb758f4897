import CallVocabulary

/// What the token at hand opens.
enum Grant: Equatable, Sendable {
    case full
    /// A push's wake token: this call only.
    case call(CallID)
}

/// Sessions opened with the token of a push, because the app could not get its own: limited to one call, and turned
/// into full ones as soon as there is a token for it.
extension ClientSession {
    /// How long the app may take for its own token while a push's would do.
    static let wakePatience: Duration = .seconds(3)

    /// A token of a push that is of use now.
    var wakeGrant: (call: CallID, token: String)? {
        if let entry = calls.last(where: { $0.wakeToken != nil }), let token = entry.wakeToken {
            return (entry.call.id, token)
        }
        // The call is over, and the server still waits to hear that its push was shown.
        guard let late = lateWake, outbox.contains(where: { $0.request.call == late.call && $0.isUnsaid }) else {
            return nil
        }
        return (late.call, late.token)
    }

    /// Whether the session at hand takes commands about `call`.
    func isServed(_ call: CallID) -> Bool { isOpen && (grant == .full || grant == .call(call)) }

    /// Whether the session at hand takes `request`.
    func isServed(_ request: ClientRequest) -> Bool {
        guard isOpen else { return false }
        guard case .call(let scope) = grant else { return true }
        return switch request {
        case .open, .session: true
        case .call(let request): request.call == scope
        case .owner: false
        }
    }

    /// Plans the next request for the app's own token.
    mutating func planUpgrade(now: Duration) {
        upgradeDue = grant == .full ? nil : now + configuration.backoffBase + tokenBackoff.next(using: &random)
    }

    mutating func upgradeIsDue(now: Duration, effects: inout [SessionEffect]) {
        // Should the app never answer, it is asked again.
        upgradeDue = now + configuration.connectTimeout
        effects.append(.fetchToken(attempt: attempt))
    }

    /// The app has its own token now: a full session takes the limited one's place.
    mutating func upgrade(_ token: String, now: Duration, effects: inout [SessionEffect]) {
        // What is under way is soon answered, and is not lost for this.
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

    /// The server does not take the push's token: another one, or the app's own, may do better.
    mutating func wakeTokenRefused(
        _ call: CallID, reason: String, hasSocket: Bool? = nil, now: Duration, effects: inout [SessionEffect]
    ) {
        if let index = index(of: call) { calls[index].wakeToken = nil }
        if lateWake?.call == call { lateWake = nil }
        lose(reason: reason, hasSocket: hasSocket, now: now, effects: &effects)
    }
}
