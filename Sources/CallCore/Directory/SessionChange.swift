import CallVocabulary

/// What has become of a session. Sessions are not stored; this is how the rest of the server learns of them.
public enum SessionChange: Equatable, Sendable {
    /// It has a socket: it is new, or was resumed.
    case online(SessionRecord)
    /// Its socket is gone; it can still be resumed.
    case away(SessionID, DeviceKey, at: Instant)
    case ended(SessionID, DeviceKey)
}

/// Key: `id`. A device has one at a time.
public struct SessionRecord: Equatable, Sendable {
    public var id: SessionID
    public var device: DeviceKey
    public var platform: Platform
    public var app: String?
    /// The only call it may act on: it was opened with a push's wake token.
    public var wakeCall: CallID?
    public var connection: ConnectionID
    /// When it was first opened.
    public var openedAt: Instant
    /// Since when it has this connection.
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
