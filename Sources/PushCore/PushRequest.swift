import CallVocabulary
import PushVocabulary

/// The HTTP request that delivers one push: a POST, for each provider and kind.
public struct PushRequest: Equatable, Sendable {
    /// A header field, in lower case as HTTP/2 requires.
    public struct Field: Equatable, Sendable {
        public let name: String
        @Secret public private(set) var value: String
        /// False for values that differ with every push: in HPACK's dynamic table they would only evict others.
        public let isIndexed: Bool

        public init(_ name: String, _ value: String, isIndexed: Bool = true) {
            self.name = name
            self.value = value
            self.isIndexed = isIndexed
        }
    }

    /// Why a push can never be sent.
    public enum Fault: String, Error, Sendable, CaseIterable {
        case tokenNotHexadecimal = "the device token is not hexadecimal"
        case tokenNotPrintable = "the registration token is not one of FCM's"
        case topicNotPrintable = "the topic is not a bundle id"
        case projectNotPlain = "the topic is not a Firebase project id"
        case notASubscription = "the token is not a Web Push subscription"
        case browserKeyNotOnCurve = "the subscription's p256dh is not a point of the curve P-256"
        case applicationServerKey = "the topic is not the public key of an application server"
        case payloadTooLarge = "the payload is too large without name and custom"
        case notCarried = "this kind of token carries no push for this purpose"
    }

    /// Requests of one kind have the same ``sharedFields(providerToken:)``.
    public struct Kind: Hashable, Sendable {
        let topic: String
        /// The push type of APNs; nil for FCM and Web Push.
        let pushType: APNSPushKind?
    }

    private enum Form: Equatable, Sendable {
        case apns(APNSPushKind, collapseID: String?, APNSPayload)
        case fcm(FCMMessage)
        case webPush(WebPushMessage)
    }

    public let id: PushID
    public let provider: PushProvider
    @Secret public private(set) var path: String
    /// The APNs topic, the Firebase project, or the application server key.
    public let topic: String
    /// The destination, safe for logs.
    public let address: String
    public let expiresAt: Instant
    private let form: Form

    /// - Parameter wakeToken: opens a session limited to the intent's call and device; used for calls only.
    /// - Throws: ``Fault`` for an invalid registration, whose values would end up in the path and the header.
    public init(
        _ intent: PushIntent, wakeToken: String, texts: AlertTexts = AlertTexts(), profile: PayloadProfile = .reveille
    ) throws(Fault) {
        switch intent.delivery {
        case .apnsVoIP:
            guard let payload = APNSPayload(voip: intent, wakeToken: wakeToken, profile: profile) else {
                throw .payloadTooLarge
            }
            try self.init(apns: intent, .apns(.voip, collapseID: nil, payload))
        case .apnsAlert:
            let payload = APNSPayload(
                alert: Self.carried(intent), wakeToken: wakeToken, texts: texts, profile: profile)
            guard let payload else { throw .payloadTooLarge }
            // With the call's collapse id, "Missed call" replaces "Incoming call".
            try self.init(apns: intent, .apns(.alert, collapseID: intent.call.description, payload))
        case .apnsBackground:
            guard let payload = APNSPayload(background: Self.carried(intent), profile: profile) else {
                throw .payloadTooLarge
            }
            try self.init(apns: intent, .apns(.background, collapseID: nil, payload))
        case .fcmData, .fcmAlert:
            try self.init(
                intent.delivery == .fcmData ? .data : .alert, to: intent.token.token, project: intent.token.topic,
                intent, wakeToken: wakeToken, texts: texts, profile: profile)
        case .webPush: try self.init(webPush: intent, wakeToken: wakeToken, texts: texts, profile: profile)
        case nil: throw .notCarried
        }
    }

    /// An alert to an iPhone through FCM.
    /// - Parameter mapped: the FCM token for the intent's APNs token in `project`.
    public init(
        _ intent: PushIntent, mapped: String, project: String, wakeToken: String, texts: AlertTexts = AlertTexts(),
        profile: PayloadProfile = .reveille
    ) throws(Fault) {
        guard intent.delivery == .apnsAlert else { throw .notCarried }
        try self.init(
            .iosAlert, to: mapped, project: project, intent, wakeToken: wakeToken, texts: texts, profile: profile)
    }

    private init(apns intent: PushIntent, _ form: Form) throws(Fault) {
        let token = intent.token.token
        guard !token.isEmpty, Self.isHexadecimal(token) else { throw .tokenNotHexadecimal }
        guard Self.isPrintable(intent.token.topic) else { throw .topicNotPrintable }
        id = intent.id
        provider = .apns
        path = "/3/device/\(token)"
        topic = intent.token.topic
        address = intent.token.description
        expiresAt = intent.expiresAt
        self.form = form
    }

    private init(
        _ shape: FCMMessage.Shape, to token: String, project: String, _ intent: PushIntent, wakeToken: String,
        texts: AlertTexts, profile: PayloadProfile
    ) throws(Fault) {
        guard Self.isPrintable(token) else { throw .tokenNotPrintable }
        guard Self.isProject(project) else { throw .projectNotPlain }
        let message = FCMMessage(
            shape, to: token, Self.carried(intent), wakeToken: wakeToken, texts: texts, profile: profile)
        guard let message else { throw .payloadTooLarge }
        id = intent.id
        provider = .fcm
        path = Self.sendPath(project: project)
        topic = project
        address = intent.token.description
        expiresAt = intent.expiresAt
        form = .fcm(message)
    }

    private init(
        webPush intent: PushIntent, wakeToken: String, texts: AlertTexts, profile: PayloadProfile
    ) throws(Fault) {
        let message = try WebPushMessage(
            Self.carried(intent), wakeToken: wakeToken, texts: texts, profile: profile)
        id = intent.id
        provider = .webpush
        path = message.subscription.path
        topic = intent.token.topic
        address = intent.token.description
        expiresAt = intent.expiresAt
        form = .webPush(message)
    }

    /// Whether the path is the same for all pushes of a pool.
    public var isPathIndexed: Bool { provider == .fcm }

    /// The fields left out to fit the limit; the device finds them in the call's snapshot.
    public var omitted: [PushOmission] {
        switch form {
        case .apns(_, _, let payload): payload.omitted
        case .fcm(let message): message.omitted
        case .webPush(let message): message.omitted
        }
    }

    public var kind: Kind {
        switch form {
        case .apns(let pushType, _, _): Kind(topic: topic, pushType: pushType)
        case .fcm, .webPush: Kind(topic: topic, pushType: nil)
        }
    }

    /// The header fields common to all requests of one ``kind`` with one token.
    /// - Parameter providerToken: nil when the connection carries the credential.
    public func sharedFields(providerToken: String?) -> [Field] {
        switch form {
        case .apns(let pushType, _, _):
            (providerToken.map { [Field("authorization", "bearer \($0)")] } ?? []) + [
                Field("apns-topic", topic), Field("apns-push-type", pushType.rawValue),
                Field("apns-priority", pushType.priority),
            ]
        case .fcm:
            (providerToken.map { [Field("authorization", "Bearer \($0)")] } ?? []) + [
                Field("content-type", "application/json")
            ]
        case .webPush:
            // RFC 8292 section 3.
            (providerToken.map { [Field("authorization", "vapid t=\($0), k=\(topic)")] } ?? []) + [
                Field("content-type", "application/octet-stream"), Field("content-encoding", "aes128gcm"),
            ]
        }
    }

    /// Whether ``ownFields(now:)`` differ with each second.
    public var hasTimeToLive: Bool { if case .webPush = form { true } else { false } }

    /// The header fields of this request alone, sent at `now`, which must be before ``expiresAt``.
    public func ownFields(now: Instant) -> [Field] {
        let collapse: String?
        switch form {
        case .apns(_, let collapseID, _): collapse = collapseID
        case .fcm: return []
        case .webPush(let message): return message.fields(now: now)
        }
        let expiration = Field("apns-expiration", String(expiration(now: now)), isIndexed: false)
        let name = Field("apns-id", id.description, isIndexed: false)
        guard let collapse else { return [expiration, name] }
        return [expiration, name, Field("apns-collapse-id", collapse, isIndexed: false)]
    }

    /// All header fields, sent at `now`, which must be before ``expiresAt``.
    /// - Parameter providerToken: nil when the connection carries the credential.
    public func fields(providerToken: String?, now: Instant) -> [Field] {
        sharedFields(providerToken: providerToken) + ownFields(now: now)
    }

    /// The body, sent at `now`, which must be before ``expiresAt``. That of Web Push is encrypted with a fresh key and
    /// salt, from the system's generator: it is never the same twice.
    public func body(now: Instant) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return body(now: now, random: &random)
    }

    /// As ``body(now:)``, with the key and salt from `random`.
    func body(now: Instant, random: inout some RandomNumberGenerator) -> [UInt8] {
        switch form {
        case .apns, .fcm: content(now: now)
        case .webPush(let message): message.body(now: now, random: &random)
        }
    }

    /// The body before encryption.
    public func content(now: Instant) -> [UInt8] {
        switch form {
        case .apns(_, _, let payload): payload.bytes(now: now)
        case .fcm(let message): message.bytes(now: now)
        case .webPush(let message): message.plain(now: now)
        }
    }

    /// `apns-expiration` in seconds since the epoch; 0, a single try, when the push expires within a second.
    func expiration(now: Instant) -> Int64 {
        isLastSecond(now) ? 0 : expiresAt.wholeSeconds
    }

    /// Whether less than a second is left, which changes ``ownFields(now:)``.
    public func isLastSecond(_ now: Instant) -> Bool { expiresAt.milliseconds - now.milliseconds < 1000 }

    /// The path of a project's `messages:send`.
    static func sendPath(project: String) -> String { "/v1/projects/\(project)/messages:send" }

    /// Whether the text is a valid project id, which becomes part of the path: letters, digits and the characters of
    /// domain-scoped ids.
    static func isProject(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
    }

    /// Removes fields that a notice never carries, so that they do not count as omitted.
    private static func carried(_ intent: PushIntent) -> PushIntent {
        guard intent.purpose != .call else { return intent }
        var intent = intent
        intent.custom = nil
        if intent.purpose == .sync { intent.fromName = nil }
        return intent
    }

    private static func isPrintable(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    /// Compares UTF-8 bytes in place: iterating over a String's characters is slow.
    private static func isHexadecimal(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            bytes.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20)
            }
        }
    }
}

/// The `apns-push-type`.
enum APNSPushKind: String, Sendable {
    case voip, alert, background

    /// `apns-priority`: 10 sends at once. APNs refuses 10 for background pushes.
    var priority: String { self == .background ? "5" : "10" }
}
