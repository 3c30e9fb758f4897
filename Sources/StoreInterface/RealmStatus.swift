import CallVocabulary

/// A process that serves a realm, as its home or as a standby.
public struct RealmNode: Equatable, Sendable {
    /// Of this start of the process.
    public let id: Identifier<RealmNode>
    /// As configured. Nodes of a realm should have different ones.
    public var name: String
    /// The machine and the process, and where it listens.
    public var address: String
    public var version: String

    public init(id: Identifier<RealmNode> = .random(), name: String, address: String = "", version: String = "") {
        self.id = id
        self.name = name
        self.address = address
        self.version = version
    }

    /// Where it is found, for people.
    public var place: String { address.isEmpty ? name : "\(name) (\(address))" }
}

/// Who serves a realm, by the database.
public struct RealmStatus: Equatable, Sendable {
    public struct Member: Equatable, Sendable {
        public var node: RealmNode
        public var isHome: Bool
        /// Whether it said last that it stands by. A home that was killed has said neither.
        public var saidStandby: Bool
        /// What is wrong with it, as it said last; nil for nothing.
        public var problem: String?
        /// When the process started, by the database's clock.
        public var startedAt: Instant
        /// How long ago it was heard of.
        public var age: Duration

        public init(
            node: RealmNode, isHome: Bool, saidStandby: Bool, problem: String? = nil, startedAt: Instant, age: Duration
        ) {
            self.node = node
            self.isHome = isHome
            self.saidStandby = saidStandby
            self.problem = problem
            self.startedAt = startedAt
            self.age = age
        }

        /// A process that was not heard of for so long does not run, or cannot reach the database.
        public static let silence = Duration.seconds(3)

        public var isSilent: Bool { age > Self.silence }

        public var standsBy: Bool { saidStandby && !isHome && !isSilent }
    }

    /// The number of take-overs so far.
    public var epoch: Int64
    /// Where the present or last home is found; nil when there was none.
    public var home: String?
    /// What is left of the home's lease; zero when it has ended.
    public var lease: Duration
    /// The node that a handover was requested for.
    public var successor: Identifier<RealmNode>?
    /// The home first, then by name.
    public var members: [Member]
    /// The commits that the tables lack; a take-over applies them.
    public var unapplied: Int
    /// What is wrong with the database's settings or its standby.
    public var warnings: [DatabaseWarning]
    /// How many standby servers PostgreSQL sends its write-ahead log to.
    public var databaseStandbys: Int

    public init(
        epoch: Int64, home: String?, lease: Duration, successor: Identifier<RealmNode>?, members: [Member],
        unapplied: Int, warnings: [DatabaseWarning], databaseStandbys: Int
    ) {
        self.epoch = epoch
        self.home = home
        self.lease = lease
        self.successor = successor
        self.members = members
        self.unapplied = unapplied
        self.warnings = warnings
        self.databaseStandbys = databaseStandbys
    }

    public var hasHome: Bool { lease > .zero }

    public var standbys: [Member] { members.filter(\.standsBy) }

    /// Whether commits wait. Then no process can renew the lease, take it, or say that it runs; the last home goes on
    /// when they wait no more.
    public var isWaiting: Bool { warnings.contains(.commitsWait) }
}

/// What of a database may lose acknowledged commits, or keeps commits waiting.
public enum DatabaseWarning: Int, CaseIterable, CustomStringConvertible, Sendable {
    case fsyncOff, fullPageWritesOff, asynchronousStandby, commitsWait

    /// With advice.
    public var description: String {
        switch self {
        case .fsyncOff:
            "fsync is off: a crash of the database's machine may lose commits and damage the database; set it to on"
        case .fullPageWritesOff: "full_page_writes is off: a crash may damage the database; set it to on"
        case .asynchronousStandby:
            "a standby is asynchronous, and lacks the last commits when it is promoted; set synchronous_standby_names"
        case .commitsWait:
            "commits wait for a synchronous standby server that is away; start it, or see synchronous_standby_names"
        }
    }
}

/// What a standby sees of its realm.
public enum RealmSight: Equatable, Sendable {
    /// Another process is the home.
    case home(String)
    /// The lease has ended, or was handed over to this process.
    case free
    /// The database does not answer.
    case unreachable(StoreFailure)
}
