import CallVocabulary

/// A change of a session. Sessions are not stored; observers get these changes instead.
public enum SessionChange: Equatable, Sendable {
    /// The session is new or was resumed, and has a socket.
    case online(SessionRecord)
    /// The socket is closed; the session can still be resumed.
    case away(SessionID, DeviceKey, at: Instant)
    case ended(SessionID, DeviceKey)
}

/// Key: `id`. A device has one session at a time.
public struct SessionRecord: Equatable, Sendable {
    public var id: SessionID
    public var device: DeviceKey
    public var platform: Platform
    public var app: String?
    /// The only call it may act on, for a session opened with a push's wake token.
    public var wakeCall: CallID?
    public var connection: ConnectionID
    /// When the session was first opened.
    public var openedAt: Instant
    /// When its present connection began.
    public var onlineSince: Instant

    public init(
        id: SessionID, device: DeviceKey, platform: Platform, app: String?, wakeCall: CallID?,
        connection: ConnectionID, openedAt: Instant, onlineSince: Instant
    ) {
        self.id = id
        self.device = device
        self.platform = platform
        self.app = app
        self.wakeCall = wakeCall
        self.connection = connection
        self.openedAt = openedAt
        self.onlineSince = onlineSince
    }
}
