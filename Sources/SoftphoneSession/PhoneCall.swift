import CallVocabulary

/// A call as this phone sees it. Times are on the server's clock.
public struct PhoneCall: Equatable, Sendable, Identifiable {
    public let id: CallID
    public let role: CallRole
    public internal(set) var state: CallState
    /// The caller; nil while only an answer by call id was given.
    public internal(set) var from: Handle?
    public internal(set) var fromName: String?
    /// The target that was called.
    public internal(set) var to: CallTarget?
    public internal(set) var video: Bool
    /// The other side's session description: the caller's offer or the callee's answer; nil until known.
    public internal(set) var sdp: RawJSON?
    public internal(set) var custom: RawJSON?
    /// The push of this call to this device, for `report`.
    public internal(set) var push: PushID?
    /// The ring deadline, after the answer the connect deadline; nil when unknown, and once media flows.
    public internal(set) var expiresAt: Instant?
    public internal(set) var answeredAt: Instant?
    public internal(set) var connectedAt: Instant?
    /// Since when the other side has had no connection to the server; nil while it has one.
    public internal(set) var peerAwaySince: Instant?
    public internal(set) var endedAt: Instant?
    public internal(set) var reason: EndReason?
    /// The party that answered; after the end the party that ended the call.
    public internal(set) var by: Party?
    /// Whether this device ended it.
    public internal(set) var isOwnAct = false
    /// The call that won a glare against this one.
    public internal(set) var mergedInto: CallID?
    /// The call that lost a glare against this one: this one is shown in its place.
    public internal(set) var mergedFrom: CallID?
    /// How many of the callee's devices are being woken, and how many ring; set for the caller only.
    public internal(set) var waking = 0
    public internal(set) var ringing = 0

    init(id: CallID, role: CallRole, state: CallState, video: Bool = false) {
        self.id = id
        self.role = role
        self.state = state
        self.video = video
    }

    /// The case of `CXCallEndedReason` to report to CallKit; nil while the call lives, and when this device ended it.
    public var callKitReason: String? {
        isOwnAct ? nil : reason?.callKitReason
    }

    /// Whether this side gives way when both sides offer a new media session at once. The callee does.
    public var isPolite: Bool { role == .callee }

    /// The other side for display: the caller's name or handle, or the target.
    public var peer: String {
        switch role {
        case .callee: fromName ?? from?.text ?? ""
        case .caller:
            switch to {
            case .user(let handle): handle.text
            case .users(let handles): handles.map(\.text).joined(separator: ", ")
            case .group(let name): name
            case nil: ""
            }
        }
    }

    /// Advances to `state` unless the call is already further: states only move forward.
    /// - Returns: whether the state changed.
    @discardableResult
    mutating func advance(to state: CallState) -> Bool {
        guard state.rank > self.state.rank else { return false }
        // The ring deadline does not apply to an answered call, the connect deadline not to a connected one.
        if self.state.isRingingPhase != state.isRingingPhase || state == .connected { expiresAt = nil }
        self.state = state
        return true
    }

    /// Applies the server's reply to the invite.
    /// - Returns: whether anything changed.
    mutating func takeInvited(_ state: CallState, _ expiresAt: Instant) -> Bool {
        let isNews = advance(to: state)
        guard self.state.isRingingPhase, self.expiresAt != expiresAt else { return isNews }
        self.expiresAt = expiresAt
        return true
    }

    /// Applies a state event of the server. Compares field by field: to compare with a copy would cost more than the
    /// rest of the method.
    /// - Returns: whether anything changed.
    mutating func take(_ change: CallStateChange) -> Bool {
        var isNews = advance(to: change.state)
        func set<Value: Equatable>(_ field: inout Value, _ value: Value) {
            guard field != value else { return }
            field = value
            isNews = true
        }
        set(&waking, change.waking)
        set(&ringing, change.ringing)
        if state == change.state, let time = change.expiresAt { set(&expiresAt, time) }
        if let party = change.by { set(&by, party) }
        if let answer = change.sdp { set(&sdp, answer) }
        switch change.state {
        case .answered: if answeredAt == nil { set(&answeredAt, change.at) }
        case .connected: if connectedAt == nil { set(&connectedAt, change.at) }
        case .routing, .waking, .ringing, .ended: break
        }
        return isNews
    }
}
