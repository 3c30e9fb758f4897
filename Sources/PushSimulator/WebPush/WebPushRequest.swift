import CallVocabulary

/// A push to the simulated push service, checked as strictly as the strictest real service does. Pure.
///
/// The first failed check determines the refusal. The order: method, endpoint, authorization, TTL, topic, urgency,
/// encoding, size.
struct WebPushRequest: Equatable {
    /// RFC 8030, section 5.3.
    enum Urgency: String, CaseIterable {
        case veryLow = "very-low"
        case low, normal, high
    }

    /// The state of an endpoint.
    enum Standing: Equatable {
        case unknown
        /// With the `applicationServerKey` of the subscription: an uncompressed point; nil permits any sender.
        case subscribed(key: [UInt8]?)
        case gone
    }

    static let prefix = "/push/"
    static let longestBody = 4096
    static let longestTopic = 32
    /// The longest TTL that FCM accepts: four weeks.
    static let longestTimeToLive: Int64 = 2_419_200

    /// The last part of the endpoint.
    var subscription: String
    /// The sender's credentials, as they came.
    var authorization: String
    /// Seconds; 0: only if the browser is reachable now.
    var timeToLive: Int64
    var topic: String?
    var urgency: Urgency
    /// Encrypted; empty for a push without content.
    var body: [UInt8]

    /// - Parameters:
    ///   - fields: names in lower case.
    ///   - authorize: checks `Authorization` against the subscription's key.
    init(
        method: String, path: String, fields: [(name: String, value: String)], body: [UInt8],
        standing: (String) -> Standing, authorize: (String, [UInt8]?) throws(WebPushError) -> Void
    ) throws(WebPushError) {
        guard method == "POST" else { throw WebPushError(.badMethod) }
        guard path.hasPrefix(Self.prefix) else { throw WebPushError(.notFound) }
        subscription = String(path.dropFirst(Self.prefix.count))
        func value(_ name: String, _ refusal: WebPushRefusal) throws(WebPushError) -> String? {
            let values = fields.filter { $0.name == name }.map(\.value)
            guard values.count < 2 else { throw WebPushError(refusal, "\(name) is repeated") }
            return values.first
        }
        switch standing(subscription) {
        case .unknown: throw WebPushError(.notFound)
        case .gone: throw WebPushError(.gone)
        case .subscribed(let key):
            guard let authorization = try value("authorization", .badAuthorization) else {
                throw WebPushError(.missingAuthorization)
            }
            try authorize(authorization, key)
            self.authorization = authorization
        }
        guard let lifetime = try value("ttl", .badTTL) else { throw WebPushError(.missingTTL) }
        timeToLive = try Self.timeToLive(lifetime)
        topic = try value("topic", .badTopic)
        if let topic, topic.isEmpty || topic.utf8.count > Self.longestTopic || !topic.utf8.allSatisfy(Self.isBase64URL)
        {
            throw WebPushError(.badTopic)
        }
        let urgency = Urgency(rawValue: try value("urgency", .badUrgency) ?? Urgency.normal.rawValue)
        guard let urgency else { throw WebPushError(.badUrgency) }
        self.urgency = urgency
        let encoding = try value("content-encoding", .badEncoding)
        guard body.isEmpty || encoding == "aes128gcm" else {
            throw WebPushError(
                .badEncoding, "Content-Encoding is '\(encoding ?? "")'; a push with content needs aes128gcm (RFC 8291)")
        }
        guard body.count <= Self.longestBody else {
            throw WebPushError(.payloadTooLarge, "The body has \(body.count) bytes; at most \(Self.longestBody)")
        }
        self.body = body
    }

    private static func timeToLive(_ text: String) throws(WebPushError) -> Int64 {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text) else {
            throw WebPushError(.badTTL, "TTL is '\(text)'; expected whole seconds")
        }
        guard seconds <= longestTimeToLive else {
            throw WebPushError(.badTTL, "TTL is \(seconds); at most \(longestTimeToLive) seconds")
        }
        return seconds
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// A push that the service has accepted, for one browser.
public struct AcceptedWebPush: Equatable, Sendable {
    /// The last part of `Location`.
    public var id: String
    /// The last part of the endpoint.
    public var subscription: String
    /// `very-low`, `low`, `normal` or `high`.
    public var urgency: String
    /// How long the push may wait for the browser; zero means one try.
    public var timeToLive: Duration
    /// A newer push with the same topic replaces this one while it waits.
    public var topic: String?
    /// As it came: encrypted.
    public var body: [UInt8]
    /// The decrypted body; nil for a push without content, and for a body that the browser cannot decrypt.
    public var payload: [UInt8]?

    public init(
        id: String, subscription: String, urgency: String = "high", timeToLive: Duration, topic: String? = nil,
        body: [UInt8] = [], payload: [UInt8]?
    ) {
        self.id = id
        self.subscription = subscription
        self.urgency = urgency
        self.timeToLive = timeToLive
        self.topic = topic
        self.body = body
        self.payload = payload
    }
}
