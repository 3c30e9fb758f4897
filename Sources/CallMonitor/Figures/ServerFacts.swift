import AdminProtocol
import CallVocabulary

/// What the parts of a server say at one moment. ``problems`` judges it.
public struct ServerFacts: Sendable {
    public struct Store: Sendable {
        /// Why commits fail; nil while they succeed.
        public var failure: String?
        /// False when the lease of a realm's home may have ended; its holder may not have noticed yet. True without a
        /// realm.
        public var isLeaseHeld = true
        /// How long the oldest commit has waited; nil when none waits.
        public var commitWaits: Duration?
        /// What holds the store, for people: disk or database.
        public var storage = "disk"
        /// Damage found by the store's page checks.
        public var damage: String?
        public var checkpointFailure: String?
        /// The file of the store that has become a link, and how.
        public var linked: String?
        /// How far the tables lag behind the write-ahead log.
        public var behind = Duration.zero
        /// The servers that stand by; nil without a realm.
        public var standbys: Int?

        public init() {}
    }

    public struct Core: Sendable {
        public var isDraining = false
        public var violations: [String] = []
        public var reports: [ReportStatus: Int] = [:]

        public init() {}
    }

    /// One push provider with one credential.
    public struct Pool: Sendable {
        /// The queue of one destination.
        public struct Line: Sendable {
            public var name: String
            /// Pushes that wait, without held ones: those need no connection yet.
            public var waiting: Int
            /// How long the oldest has waited.
            public var oldest: Duration?
            public var connections: Int
            /// How long ago a push last left the queue unsent that had waited too long without a connection; nil once one
            /// was opened.
            public var cutOffFor: Duration?
            /// How long ago a push last left the queue that had waited too long; nil once one was sent sooner.
            public var overdueFor: Duration?
            /// Why the last connection failed; nil once one was opened.
            public var failure: String?

            public init(name: String, waiting: Int, oldest: Duration? = nil, connections: Int) {
                self.name = name
                self.waiting = waiting
                self.oldest = oldest
                self.connections = connections
            }
        }

        public var name: String
        /// The topics that the pool serves; nil for all of the provider.
        public var topics: [String]?
        public var lines: [Line] = []
        /// What is wrong with the credential, with advice; nil for nothing.
        public var credential: String?
        /// What is wrong with topics whose pushes are all refused, with advice.
        public var suspects: [(topic: String, words: String)] = []
        /// How long ago the last push was refused, while the provider refuses those of all users.
        public var allRefusedFor: Duration?
        /// The expiry of the client certificate, if that is the credential.
        public var certificateEnds: Instant?
        /// Whether devices choose the addresses, as those of Web Push: where pushes fail, a device may be the cause.
        public var isOfDevices = false

        public init(name: String) { self.name = name }
    }

    /// The certificates of a listener, `signal`, `admin` or `metrics`, or those of ``authorities``.
    public struct Certificate: Equatable, Sendable {
        /// The authorities of administrators' certificates, by their setting.
        public static let authorities = "admin.client_ca"

        public var listener: String
        /// The one that ends first.
        public var name: String
        public var ends: Instant

        public init(listener: String, name: String = "the certificate", ends: Instant) {
            self.listener = listener
            self.name = name
            self.ends = ends
        }

        var isOfAuthorities: Bool { listener == Self.authorities }
    }

    public struct Authorization: Sendable {
        /// The questions that the backend does not answer, `invite` and `session`, and how long ago the last one failed.
        public var unanswered: [String: Duration] = [:]
        /// How many questions in a row had no valid answer, by question, where they are so many that nobody may get one.
        public var inVain: [String: Int] = [:]
        /// The status with which the backend refuses everybody, by question.
        public var refusing: [String: Int] = [:]
        /// The valid answers since the last question without one, of the kind of question with fewest.
        public var answersInARow = 0
        /// Whether `authorize.on_failure` is `deny`.
        public var isDenying = false

        public init() {}
    }

    /// The keys that an identity provider serves.
    public struct IdentityKeys: Sendable {
        public var hasKeys: Bool
        /// Failed fetches since the last good one.
        public var failures: Int
        /// How long the keys are past their age; nil while they are within it.
        public var overdue: Duration?

        public init(hasKeys: Bool, failures: Int, overdue: Duration? = nil) {
            self.hasKeys = hasKeys
            self.failures = failures
            self.overdue = overdue
        }
    }

    /// How long a push may wait without a connection: the first one after a start waits for the handshake.
    public static let longestHandshake = Duration.seconds(2)
    /// How long a push may wait while there is a connection; a call rings for 45 s.
    public static let longestWait = Duration.seconds(10)
    /// How long refusals make the server unready: an unready server gets no calls, whose pushes and questions would clear
    /// them. As long a push that waited too long is a problem: nobody waits between two calls.
    public static let refusalsCount = Duration.seconds(600)
    /// How long failed pushes make the server unready, where all fail, and such that waited too long: a provider that is
    /// back is seen by the next push.
    public static let pushesCount = Duration.seconds(60)
    /// After so many valid answers in a row, questions that failed before them are no problem any more, nor are pushes.
    public static let answersToTrust = 20
    /// The age of the oldest commit from which the store hangs.
    public static let longestCommit = Duration.seconds(3)
    /// How long commits that have hung are a problem: each lasts only until the disk answers, and hangs again.
    public static let hangsCount = Duration.seconds(60)
    /// One commit in a hundred that takes longer is a slow store.
    public static let slowCommit = Duration.milliseconds(250)
    public static let longestBehind = Duration.seconds(5)
    /// One first ring in a hundred that comes later is slow.
    public static let longestRing = Duration.seconds(10)
    /// Automatic renewal is done earlier than this, and a person still has time to act.
    public static let listenerWarning = Duration.seconds(14 * 24 * 3600)
    /// A push certificate takes a person in a developer account.
    public static let pushWarning = Duration.seconds(30 * 24 * 3600)
    public static let lastDay = Duration.seconds(24 * 3600)
    public static let oldestEvent = Duration.seconds(900)

    /// On the timeline, and by the system clock, which certificates are compared with.
    public var now: Instant
    public var date: Instant
    public var store = Store()
    /// nil while the core does not run.
    public var core: Core?
    public var pools: [Pool] = []
    public var certificates: [Certificate] = []
    public var authorization = Authorization()
    /// nil without an identity provider that serves its keys.
    public var identity: IdentityKeys?
    /// The admin socket, if its file is gone.
    public var missingAdminSocket: String?
    /// The files that the next start needs and would not find, by the settings that name them.
    public var missingFiles: [(setting: String, path: String)] = []
    /// Whether the settings of the last reload were refused.
    public var hasRefusedReload = false
    /// Why the log cannot be written; nil while it can.
    public var logFailure: String?
    public var webhooks: [WebhookView] = []
    public var queues: [StatsView.Queue] = []
    public var openFiles = 0
    public var maxFiles = 0
    public var counts: CountHistory.Counts = [:]
    public var history: CountHistory

    /// - Parameter start: when the counters were 0.
    public init(now: Instant, date: Instant, start: Instant) {
        self.now = now
        self.date = date
        history = CountHistory(start: start)
    }
}
