import CallVocabulary

/// A push that passed all checks.
public struct AcceptedPush: Equatable, Sendable {
    /// The `apns-id`.
    public var id: String
    public var deviceToken: String
    public var topic: String
    public var type: APNSPushType
    public var priority: Int
    /// `apns-expiration` in seconds since the epoch: 0 means one try without storage; nil means no header.
    public var expiration: Int64?
    public var collapseID: String?
    public var payload: [UInt8]

    public init(
        id: String, deviceToken: String, topic: String, type: APNSPushType, priority: Int = 10,
        expiration: Int64? = nil, collapseID: String? = nil, payload: [UInt8]
    ) {
        self.id = id
        self.deviceToken = deviceToken
        self.topic = topic
        self.type = type
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.payload = payload
    }
}

/// The state of a device token at APNs.
public enum DeviceTokenStanding: Equatable, Sendable {
    /// Never issued, or issued in the other environment: APNs does not distinguish the two.
    case unknown
    case registered(topic: String)
    /// The app was removed, at `since`.
    case unregistered(since: Instant)
}
