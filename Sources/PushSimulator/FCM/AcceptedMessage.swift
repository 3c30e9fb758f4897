import CallVocabulary

/// A message that FCM has accepted, for one phone.
public struct AcceptedMessage: Equatable, Sendable {
    /// The last component of the name returned to the sender: `0:1700000000000000%…`.
    public var id: String
    /// The project's sender number, or `/topics/<name>`.
    public var from: String
    public var isHigh: Bool
    /// How long the message may wait for the phone; zero means one try.
    public var timeToLive: Duration
    public var collapseKey: String?
    /// Whether the system shows a notification itself while the app is in the background.
    public var hasNotification: Bool
    /// A newer alert with the same tag replaces this one.
    public var tag: String?
    /// `{"data":{…},"notification":{…}}`
    public var payload: [UInt8]

    public init(
        id: String, from: String, isHigh: Bool, timeToLive: Duration, collapseKey: String? = nil,
        hasNotification: Bool = false, tag: String? = nil, payload: [UInt8]
    ) {
        self.id = id
        self.from = from
        self.isHigh = isHigh
        self.timeToLive = timeToLive
        self.collapseKey = collapseKey
        self.hasNotification = hasNotification
        self.tag = tag
        self.payload = payload
    }
}
