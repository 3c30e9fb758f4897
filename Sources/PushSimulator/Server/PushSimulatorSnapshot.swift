/// Counts since the start, and the simulated phones. The body of `GET /simulator/v1/state`.
public struct PushSimulatorSnapshot: Codable, Equatable, Sendable {
    /// Counts since the start.
    public struct Counts: Codable, Equatable, Sendable {
        /// Provider requests received, whatever their result.
        public var received = 0
        /// Responses with 200, or 201 for Web Push.
        public var accepted = 0
        /// Refusals, by reason.
        public var rejected: [String: Int] = [:]
        /// Requests without a response, due to a fault.
        public var unanswered = 0
        /// Pushes delivered to a phone.
        public var delivered = 0
        /// Pushes stored for an unreachable phone; some are delivered later.
        public var stored = 0
        /// Stored pushes replaced by newer ones.
        public var replaced = 0
        /// Accepted pushes that will not be delivered, by reason.
        public var dropped: [String: Int] = [:]
        /// Reports of pushes that awaited one.
        public var reported = 0
        /// Other reports: repeated, too late, or of undelivered pushes.
        public var reportedInVain = 0
        /// VoIP pushes not reported in time, and pushes to a browser that showed no notification in time.
        public var contractViolations = 0
        /// Apps killed for unreported pushes.
        public var kills = 0
        /// Web Push subscriptions ended for pushes without a notification.
        public var revoked = 0
        /// Connections accepted on all ports, including phones' links.
        public var connections = 0
        /// Sent due to a fault.
        public var goAways = 0
        /// Applied faults, by name.
        public var faults: [String: Int] = [:]
        /// Issued OAuth access tokens.
        public var accessTokens = 0

        private enum CodingKeys: String, CodingKey {
            case received, accepted, rejected, unanswered, delivered, stored, replaced, dropped, reported
            case reportedInVain = "reported_in_vain"
            case contractViolations = "contract_violations"
            case kills, revoked, connections
            case goAways = "go_aways"
            case faults
            case accessTokens = "access_tokens"
        }

        public var rejectedTotal: Int { rejected.values.reduce(0, +) }
    }

    public struct Phone: Codable, Equatable, Sendable {
        /// The device token; for a browser, the endpoint and the keys of its subscription. Secret: keep it out of logs.
        public var token: String
        /// `apns`, `fcm` or `webpush`.
        public var provider: String
        public var environment: String
        public var topic: String
        public var name: String
        public var isAttached = false
        /// `foreground`, `background` or `killed`; for an Android phone and a browser only `foreground` or not.
        public var app = ""
        /// How many times in a row the app was killed for unreported pushes; for a browser, the pushes without a
        /// notification.
        public var failures = 0
        public var isVoIPBlocked = false
        /// Whether the app was removed: pushes get 410.
        public var isUnregistered: Bool
        /// Delivered VoIP pushes that await a report.
        public var awaitedReports = 0
        /// The `apns-id` of the push stored until the phone attaches.
        public var storedPush: String?
        /// On Android and in a browser: the stored messages.
        public var storedMessages: [String] = []
        /// The background push held until it is permitted.
        public var heldPush: String?
        /// Whether an Android phone is in doze mode, or a browser saves power: only high priority wakes it.
        public var isDozing = false
        /// Whether Android treats high priority as normal, because the app showed no notifications.
        public var isDemoted = false
        public var alerts: [ShownAlert] = []
        public var subscriptions: [String]

        /// Tells phones apart: eight characters of the token, or of the last part of a browser's endpoint.
        public var excerpt: String { SimulatedPhone.key(of: token).prefix(8) + "…" }

        private enum CodingKeys: String, CodingKey {
            case token, provider, environment, topic, name
            case isAttached = "attached"
            case app, failures
            case isVoIPBlocked = "voip_blocked"
            case isUnregistered = "unregistered"
            case awaitedReports = "awaited_reports"
            case storedPush = "stored_push"
            case storedMessages = "stored_messages"
            case heldPush = "held_push"
            case isDozing = "dozing"
            case isDemoted = "demoted"
            case alerts, subscriptions
        }
    }

    public var counts: Counts
    public var openConnections: Int
    /// In the order of registration.
    public var phones: [Phone]

    private enum CodingKeys: String, CodingKey {
        case counts
        case openConnections = "open_connections"
        case phones
    }

    public func phone(_ token: String) -> Phone? {
        phones.first { $0.token == token }
    }
}
