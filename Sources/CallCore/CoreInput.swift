import CallVocabulary

/// What has happened: the only way anything reaches the core.
public enum CoreInput: Equatable, Sendable {
    /// `session.open` with a token that proved good.
    case sessionOpened(ConnectionID, RequestID, SessionOpen, SessionGrant)
    case requested(ConnectionID, RequestID, ClientRequest)
    case notified(ConnectionID, ClientNotification)
    /// The socket is gone, however it ended.
    case connectionLost(ConnectionID)
    /// The push client has room on the wire for this push: the last look before it goes.
    case pushReady(PushID)
    case pushEnded(PushID, PushOutcome)
    /// From now on no new calls are taken.
    case drainingBegan
}

/// What a token entitles its bearer to.
public struct SessionGrant: Equatable, Sendable {
    public enum Scope: Equatable, Sendable {
        case full
        /// A push's wake token: this one call, on the device it was sent to.
        case call(CallID)
    }

    public var user: Handle
    /// What the user is called, for the other side's screen.
    public var displayName: String?
    public var scope: Scope

    public init(user: Handle, displayName: String? = nil, scope: Scope = .full) {
        self.user = user
        self.displayName = displayName
        self.scope = scope
    }
}
