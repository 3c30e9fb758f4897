import CallVocabulary

/// A message that FCM has accepted, on its way to one phone.
public struct AcceptedMessage: Equatable, Sendable {
    /// The end of the name that the sender was given: `0:1700000000000000%…`.
    public var id: String
    /// The project's number of sender, or `/topics/<name>`.
    public var from: String
    public var isHigh: Bool
    /// How long it may wait for the phone; zero is one try.
    public var timeToLive: Duration
    public var collapseKey: String?
    /// Whether the system shows something by itself while the app is not in front.
    public var hasNotification: Bool
    /// What replaces an alert shown earlier.
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
