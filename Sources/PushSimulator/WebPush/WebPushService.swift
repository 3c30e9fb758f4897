import CallVocabulary
import ClientTokens
import Crypto
import Determinism

/// The state of the Web Push service: its origin, and the tokens of senders. Confined to the simulator's loop.
final class WebPushService {
    /// The most verified tokens kept; a correct sender has one for each origin and day.
    private static let mostVerified = 64
    private static let idLength = 32

    private struct Verified {
        let key: [UInt8]
        let claims: VAPIDCredentials.Claims
    }

    /// `https://host:port`; set once the port is known.
    var origin = ""
    /// By the value of `Authorization`.
    private var verified: [String: Verified] = [:]

    /// Makes a subscription, as `PushManager.subscribe()` does.
    /// - Parameter serverKey: the `applicationServerKey`, in base64url.
    func subscribe(serverKey: String, random: inout SeededGenerator) -> BrowserSubscription {
        let id = String.random(Self.idLength, of: .urlSafe, using: &random)
        return BrowserSubscription(
            endpoint: origin + WebPushRequest.prefix + id, serverKey: Base64URL.decode(serverKey[...]),
            keys: SubscriptionKeys(random: &random))
    }

    /// Checks a sender's credentials.
    /// - Parameter key: the subscription's `applicationServerKey`; nil permits any.
    func authorize(_ authorization: String, for key: [UInt8]?, now: Instant) throws(WebPushError) {
        let sender = try sender(authorization)
        try sender.claims.check(origin: origin, now: now)
        guard key == nil || sender.key == key else { throw WebPushError(.badKey) }
    }

    private func sender(_ authorization: String) throws(WebPushError) -> Verified {
        if let known = verified[authorization] { return known }
        let credentials = try VAPIDCredentials(authorization: authorization)
        let sender = Verified(key: credentials.key, claims: try credentials.claims())
        if verified.count == Self.mostVerified { verified = [:] }
        verified[authorization] = sender
        return sender
    }
}

@available(*, unavailable)
extension WebPushService: Sendable {}

/// A browser's subscription, with the keys that only the browser knows.
struct BrowserSubscription {
    /// The most accepted pushes that are kept for `GET phones/{id}/subscription`.
    private static let remembered = 16

    let endpoint: String
    /// The `applicationServerKey` that it was made with; nil permits any sender.
    let serverKey: [UInt8]?
    let keys: SubscriptionKeys
    private(set) var pushes: [(push: AcceptedWebPush, authorization: String)] = []

    init(endpoint: String, serverKey: [UInt8]?, keys: SubscriptionKeys) {
        self.endpoint = endpoint
        self.serverKey = serverKey
        self.keys = keys
    }

    /// As in a registration: `<endpoint>#p256dh=…&auth=…`.
    var token: String { "\(endpoint)#\(keys.text)" }

    mutating func remember(_ push: AcceptedWebPush, authorization: String) {
        if pushes.count == Self.remembered { pushes.removeFirst() }
        pushes.append((push, authorization))
    }
}

extension BrowserSubscription {
    /// All that a test needs to decrypt the pushes itself. Base64url.
    var view: PhoneLinkMessages.Subscription {
        PhoneLinkMessages.Subscription(
            endpoint: endpoint,
            keys: PhoneLinkMessages.Subscription.Keys(
                p256dh: Base64URL.encode(keys.publicKey), auth: Base64URL.encode(keys.auth)),
            privateKey: Base64URL.encode(keys.privateKey.rawRepresentation),
            pushes: pushes.map { push, authorization in
                PhoneLinkMessages.Subscription.Push(
                    id: push.id, ttl: push.timeToLive.components.seconds, urgency: push.urgency, topic: push.topic,
                    authorization: authorization,
                    body: Base64URL.encode(push.body))
            })
    }
}
