import CallVocabulary
import HTTP2
import PushVocabulary

/// Something a provider is made to do wrong, with requests that are in order.
public struct PushFault: Equatable, Sendable {
    /// Which of the simulated services it befalls.
    public enum Service: String, Sendable, CaseIterable {
        /// Pushes to APNs, in both environments.
        case apns
        /// Messages to FCM, by token, topic or condition.
        case fcm
        /// Exchanges of an assertion for an access token.
        case oauth
    }

    /// The end of a connection, announced.
    public struct GoAway: Equatable, Sendable {
        public enum Text: Equatable, Sendable {
            /// `{"reason":…}`
            case json(APNSReason)
            /// The reason alone.
            case plain(APNSReason)
            case none
        }

        /// Which stream is named as the last that is dealt with.
        public enum LastStream: String, Sendable, CaseIterable {
            /// That of the push itself: it is answered.
            case current
            /// None: the push counts as never seen, and so do all that are in flight.
            case zero
            /// The one before the push: it was in flight when the end came.
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
        /// Answer with `reason`, and with another status than the documented one if `status` says so.
        /// `timestamp` is for 410, now if nil.
        case refuse(APNSReason, status: Int? = nil, timestamp: Instant? = nil)
        /// The same in Google's words, of FCM or its OAuth endpoint; `retryAfter` is in whole seconds.
        case refuseMessage(FCMRefusal, status: Int? = nil, retryAfter: Int? = nil)
        /// Answer 200 and never deliver.
        case lose
        /// Answer 200 and hand the push to the phone only after this time, whatever its expiration.
        case deliverLate(Duration)
        /// Take the request and never answer; nothing is delivered.
        case neverAnswer
        /// End the connection with GOAWAY. The push is treated as usual if its stream is within the announced ones.
        case retire(GoAway)
        /// RST_STREAM with this code; nothing is delivered.
        case reset(HTTP2ErrorCode)
        /// Treat the push as usual, and allow the connection so many streams from now on.
        case limitStreams(Int)
        /// Answer 503, and close the connection.
        case refuseAndClose
        /// From now on the connection neither takes nor sends anything; nothing is delivered.
        case blackHole
        /// Answer in two pieces with this time between them: APNs an error, as it has no other bodies; FCM as usual.
        case splitBody(APNSReason = .internalServerError, pause: Duration)
        /// Answer with this status and nothing else.
        case emptyBody(status: Int)
        /// Answer with this status and a page of HTML, as a load balancer in between does.
        case html(status: Int)

        /// Treat the push as usual, then end the connection with GOAWAY, whose debug data is `{"reason":…}`.
        /// Streams up to the push's own are still answered.
        public static func goAway(_ reason: APNSReason?) -> Self {
            .retire(GoAway(text: reason.map { .json($0) } ?? .none))
        }
    }

    public var effect: Effect
    public var service: Service
    /// The device token it befalls; nil: any.
    public var deviceToken: String?
    /// How many pushes it befalls; nil: all, until the faults are cleared.
    public var count: Int?
    /// Which part of the pushes it befalls, from 0 to 1; drawn from the simulator's generator.
    public var rate: Double
    /// For late deliveries: up to so much is added, drawn in the same way.
    public var jitter: Duration

    public init(
        _ effect: Effect, service: Service? = nil, deviceToken: String? = nil, count: Int? = nil, rate: Double = 1,
        jitter: Duration = .zero
    ) {
        self.effect = effect
        if case .refuseMessage = effect { self.service = service ?? .fcm } else { self.service = service ?? .apns }
        self.deviceToken = deviceToken.map(Self.normalized)
        self.count = count
        self.rate = rate
        self.jitter = jitter
    }

    /// APNs' tokens are hexadecimal in either case; FCM's are case-sensitive.
    private static func normalized(_ token: String) -> String {
        token.utf8.allSatisfy(APNSRequestCheck.isHexDigit) ? token.lowercased() : token
    }
}
