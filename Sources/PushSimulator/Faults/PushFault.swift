import CallVocabulary
import HTTP2
import PushVocabulary

/// An injected fault, for requests that pass all checks.
public struct PushFault: Equatable, Sendable {
    /// The affected service.
    public enum Service: String, Sendable, CaseIterable {
        /// Pushes to APNs, in both environments.
        case apns
        /// Messages to FCM, by token, topic or condition.
        case fcm
        /// Exchanges of an assertion for an access token.
        case oauth
        /// Pushes to browsers.
        case webpush
    }

    public struct GoAway: Equatable, Sendable {
        public enum Text: Equatable, Sendable {
            /// `{"reason":…}`
            case json(APNSReason)
            /// The reason alone.
            case plain(APNSReason)
            case none
        }

        /// The last stream id in the GOAWAY frame.
        public enum LastStream: String, Sendable, CaseIterable {
            /// The push's own stream: it is answered.
            case current
            /// 0: no stream was processed, including those in flight.
            case zero
            /// The stream before the push's: the push was in flight.
            case before
        }

        public var text: Text
        public var isDoubled: Bool
        public var lastStream: LastStream

        public init(text: Text = .none, isDoubled: Bool = false, lastStream: LastStream = .current) {
            self.text = text
            self.isDoubled = isDoubled
            self.lastStream = lastStream
        }
    }

    public enum Effect: Equatable, Sendable {
        /// Answers with `reason`, and with `status` instead of the documented status. `timestamp` is for 410; nil means
        /// now.
        case refuse(APNSReason, status: Int? = nil, timestamp: Instant? = nil)
        /// The same for FCM or its OAuth endpoint; `retryAfter` is in whole seconds.
        case refuseMessage(FCMRefusal, status: Int? = nil, retryAfter: Int? = nil)
        /// The same for Web Push.
        case refuseWebPush(WebPushRefusal, status: Int? = nil, retryAfter: Int? = nil)
        /// Answers 200, or 201 for Web Push, and never delivers.
        case lose
        /// Answers the same and delivers after this delay, whatever the expiration.
        case deliverLate(Duration)
        /// Never answers; nothing is delivered.
        case neverAnswer
        /// Ends the connection with GOAWAY. The push is processed if its stream is not above the last stream id.
        case retire(GoAway)
        /// Sends RST_STREAM with this code; nothing is delivered.
        case reset(HTTP2ErrorCode)
        /// Processes the push, then limits the connection to this many streams.
        case limitStreams(Int)
        /// Answers 503 and closes the connection.
        case refuseAndClose
        /// The connection stops reading and writing; nothing is delivered.
        case blackHole
        /// Sends the response body in two parts with this pause. APNs answers with an error, the only responses with a
        /// body; FCM as usual; Web Push with an error.
        case splitBody(APNSReason = .internalServerError, pause: Duration)
        /// Answers with this status and no body.
        case emptyBody(status: Int)
        /// Answers with this status and an HTML page, as a load balancer does.
        case html(status: Int)

        /// Processes the push, then ends the connection with GOAWAY, whose debug data is `{"reason":…}`. Streams up to
        /// the push's own are answered.
        public static func goAway(_ reason: APNSReason?) -> Self {
            .retire(GoAway(text: reason.map { .json($0) } ?? .none))
        }
    }

    public var effect: Effect
    public var service: Service
    /// The affected device token, or the last part of a browser's endpoint; nil for any.
    public var deviceToken: String?
    /// The number of affected pushes; nil for all until the faults are cleared.
    public var count: Int?
    /// The affected share of pushes, from 0 to 1, drawn from the simulator's generator.
    public var rate: Double
    /// For late deliveries: the largest additional delay, drawn from the generator.
    public var jitter: Duration

    public init(
        _ effect: Effect, service: Service? = nil, deviceToken: String? = nil, count: Int? = nil, rate: Double = 1,
        jitter: Duration = .zero
    ) {
        self.effect = effect
        switch effect {
        case .refuseMessage: self.service = service ?? .fcm
        case .refuseWebPush: self.service = service ?? .webpush
        case .refuse, .lose, .deliverLate, .neverAnswer, .retire, .reset, .limitStreams, .refuseAndClose, .blackHole,
            .splitBody, .emptyBody, .html:
            self.service = service ?? .apns
        }
        self.deviceToken = deviceToken.map(Self.normalized)
        self.count = count
        self.rate = rate
        self.jitter = jitter
    }

    /// APNs tokens are case-insensitive hexadecimal; FCM tokens are case-sensitive. A subscription is known by the last
    /// part of its endpoint.
    private static func normalized(_ token: String) -> String {
        if token.hasPrefix("https://") { return SimulatedPhone.key(of: token) }
        return token.utf8.allSatisfy(APNSRequestCheck.isHexDigit) ? token.lowercased() : token
    }
}
