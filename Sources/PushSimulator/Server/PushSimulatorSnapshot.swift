/// What a simulator has seen and done since its start, and the phones it plays. Also the body of
/// `GET /simulator/v1/state`.
public struct PushSimulatorSnapshot: Codable, Equatable, Sendable {
    /// Counts since the start.
    public struct Counts: Codable, Equatable, Sendable {
        /// Provider requests that came in, whatever became of them.
        public var received = 0
        /// Answered with 200.
        public var accepted = 0
        /// Answered with a refusal, by reason.
        public var rejected: [String: Int] = [:]
        /// Never answered, by a fault.
        public var unanswered = 0
        /// Given to a phone.
        public var delivered = 0
        /// Kept for a phone that was away; some of them are delivered later.
        public var stored = 0
        /// Stored, and pushed out by a newer one.
        public var replaced = 0
        /// Accepted, and never to be delivered, by reason.
        public var dropped: [String: Int] = [:]
        /// Reports of a push that was waiting for one.
        public var reported = 0
        /// Reports of something else: repeated, too late, or never delivered.
        public var reportedInVain = 0
        /// VoIP pushes that an app did not report in time.
        public var contractViolations = 0
        /// Apps that iOS ended for it.
        public var kills = 0
        /// Connections accepted, on both ports, the phones' links included.
        public var connections = 0
        /// GOAWAYs sent by a fault.
        public var goAways = 0
        /// Faults that happened, by name.
        public var faults: [String: Int] = [:]
        /// OAuth access tokens given out.
        public var accessTokens = 0

        private enum CodingKeys: String, CodingKey {
            case received, accepted, rejected, unanswered, delivered, stored, replaced, dropped, reported
            case reportedInVain = "reported_in_vain"
            case contractViolations = "contract_violations"
            case kills, connections
            case goAways = "go_aways"
            case faults
            case accessTokens = "access_tokens"
        }

        /// All refusals together.
        public var rejectedTotal: Int { rejected.values.reduce(0, +) }
    }

    /// One simulated phone.
    public struct Phone: Codable, Equatable, Sendable {
        /// The device token. A secret of the phone's: keep it out of logs.
        public var token: String
        /// `apns` or `fcm`.
        public var provider: String
        public var environment: String
        public var topic: String
        public var name: String
        public var isAttached: Bool
        /// `foreground`, `background` or `killed`; of an Android phone only whether it is in front.
        public var app: String
        /// Times in a row that the app was ended for want of a report.
        public var failures: Int
        public var isVoIPBlocked: Bool
        /// The app was removed: pushes are answered 410.
        public var isUnregistered: Bool
        /// Delivered VoIP pushes whose report is still due.
        public var awaitedReports: Int
        /// The `apns-id` of the push that waits for the phone to come back.
        public var storedPush: String?
        /// On Android: the messages that wait.
        public var storedMessages: [String]
        /// The background push that waits for its turn.
        public var heldPush: String?
        /// An Android phone that lies untouched: it is woken by high priority only.
        public var isDozing: Bool
        /// Android takes high priority for normal: the app has shown nothing for it.
        public var isDemoted: Bool
        /// What is on the screen.
        public var alerts: [ShownAlert]
        /// The FCM topics it has subscribed to.
        public var subscriptions: [String]

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
    /// Connections open now.
    public var openConnections: Int
    /// In the order of registration.
    public var phones: [Phone]

    private enum CodingKeys: String, CodingKey {
        case counts
        case openConnections = "open_connections"
        case phones
    }

    /// The phone of that token.
    public func phone(_ token: String) -> Phone? {
        phones.first { $0.token == token }
    }
}
