import CallVocabulary
import PushVocabulary
import WireJSON

/// The message of one Web Push: its content, encrypted when it is sent. RFC 8030 has the header fields.
struct WebPushMessage: Equatable, Sendable {
    /// FCM's and Mozilla's longest time to live, four weeks, in seconds; others have more.
    private static let longestTimeToLive: Int64 = 28 * 24 * 3600

    let subscription: WebPushSubscription
    private let content: PayloadContent
    let omitted: [PushOmission]

    /// - Throws: ``PushRequest/Fault`` for a token or topic that is none of Web Push, and a payload that is too large.
    init(_ intent: PushIntent, wakeToken: String, texts: AlertTexts, profile: PayloadProfile) throws(PushRequest.Fault)
    {
        guard let subscription = intent.token.subscription else { throw .notASubscription }
        guard subscription.isKeyValid else { throw .browserKeyNotOnCurve }
        guard WebPushSubscription.publicKey(intent.token.topic[...]) != nil else { throw .applicationServerKey }
        let part: PayloadProfile.Part = intent.purpose == .call ? .web : .webMissedCall
        let content = PayloadContent(profile: profile, part: part, intent: intent, wakeToken: wakeToken, texts: texts)
        guard let fitted = PushOmission.fit(content, into: part.limit, size: { $0.largest.count }) else {
            throw .payloadTooLarge
        }
        self.subscription = subscription
        (self.content, omitted) = fitted
    }

    /// The header fields of this message, sent at `now`.
    func fields(now: Instant) -> [PushRequest.Field] {
        let intent = content.intent
        let seconds = (intent.expiresAt - now).wholeMilliseconds / 1000
        return [
            // 0 in the last second: the service then delivers at once or not at all (RFC 8030 section 5.2).
            PushRequest.Field("ttl", String(min(max(0, seconds), Self.longestTimeToLive)), isIndexed: false),
            // RFC 8030 section 5.3 has an incoming call as its example of `high`.
            PushRequest.Field("urgency", intent.purpose == .call ? "high" : "normal"),
            // With the call's topic, "Missed call" replaces an "Incoming call" that was not delivered (section 5.4).
            PushRequest.Field("topic", WebPushSubscription.base64URL(intent.call.bytes), isIndexed: false),
        ]
    }

    /// The content before encryption, sent at `now`.
    func plain(now: Instant) -> [UInt8] {
        JSONWriter.bytes { json in json.object { content.write(now: now, to: &$0) } }
    }

    func body(now: Instant, random: inout some RandomNumberGenerator) -> [UInt8] {
        let keys = WebPushEncryption.MessageKeys(random: &random)
        guard let body = WebPushEncryption.encrypt(plain(now: now), to: subscription, with: keys) else {
            preconditionFailure("`init` has checked the browser's key")
        }
        return body
    }
}
