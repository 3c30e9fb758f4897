import CallVocabulary

/// The realm of a server whose store is in PostgreSQL. The server is its home: standbys answer no administrators.
public struct RealmInfo: Codable, Equatable, Sendable {
    /// The number of take-overs.
    public var epoch: Int
    /// What is left of the lease, in milliseconds; it is renewed twice a second.
    public var leaseMilliseconds: Int
    /// The names of the servers that stand by.
    public var standbys: [String]

    public init(epoch: Int, leaseMilliseconds: Int, standbys: [String]) {
        self.epoch = epoch
        self.leaseMilliseconds = leaseMilliseconds
        self.standbys = standbys
    }

    enum CodingKeys: String, CodingKey {
        case epoch, standbys
        case leaseMilliseconds = "lease_ms"
    }
}

/// A server's identity and state.
public struct ServerInfo: Codable, Equatable, Sendable {
    public var version: String
    public var node: String
    public var startedAt: Timestamp
    public var address: String
    /// The URL for clients on this machine; nil when the server does not report one.
    public var clientURL: String?
    public var data: String
    public var isDraining: Bool
    /// When a draining server means to stop.
    public var drainsUntil: Timestamp?
    public var liveCalls: Int
    public var sessions: Int
    public var processID: Int
    /// The metrics endpoint on TCP; nil when metrics are served on the admin socket only.
    public var metrics: String?
    /// nil for a server on SQLite.
    public var realm: RealmInfo?
    /// Whether the connection that asked may change something; nil inside other views.
    public var mayChange: Bool?
    /// ``StatsView/problems``; nil inside other views.
    public var problems: [ServerProblem]?

    public init(
        version: String, node: String, startedAt: Timestamp, address: String, clientURL: String? = nil, data: String,
        isDraining: Bool, drainsUntil: Timestamp?, liveCalls: Int, sessions: Int, processID: Int,
        metrics: String? = nil, realm: RealmInfo? = nil
    ) {
        self.version = version
        self.node = node
        self.startedAt = startedAt
        self.address = address
        self.clientURL = clientURL
        self.data = data
        self.isDraining = isDraining
        self.drainsUntil = drainsUntil
        self.liveCalls = liveCalls
        self.sessions = sessions
        self.processID = processID
        self.metrics = metrics
        self.realm = realm
    }

    enum CodingKeys: String, CodingKey {
        case version, node, address, metrics, data, sessions, realm, problems
        case startedAt = "started_at"
        case clientURL = "client_url"
        case isDraining = "is_draining"
        case drainsUntil = "drains_until"
        case liveCalls = "live_calls"
        case processID = "process_id"
        case mayChange = "may_change"
    }
}

/// The stages of a call that are timed.
public enum CallStage: String, Codable, Sendable, CaseIterable, CodingKeyRepresentable {
    /// From the invite to the first device that rings.
    case inviteToRinging = "invite_to_ringing"
    /// From the first ring to the answer: mostly the callee's reaction time.
    case ringingToAnswer = "ringing_to_answer"
    /// From the answer until media flows on both sides.
    case answerToConnected = "answer_to_connected"
    /// From the decision on a push to the decision to send it now. The push is sent once both are durable.
    case pushIntendedToSent = "push_intended_to_sent"
    /// From the decision to send to the provider's answer, including the time of the server's disk.
    case pushSentToAnswered = "push_sent_to_answered"
    /// From the sent push to the session that the woken device opened.
    case pushSentToWoken = "push_sent_to_woken"
    /// From the sent push to the device's report.
    case pushSentToReported = "push_sent_to_reported"
}

/// The figures of a running server.
public struct StatsView: Codable, Equatable, Sendable {
    public var at: Timestamp
    public var server: ServerInfo
    public var calls: Calls
    public var sessions: Sessions
    /// Over the last minute.
    public var stages: [Stage]
    public var pushes: Pushes
    /// One for each provider, environment and credential.
    public var pushPools: [PushPool]
    public var store: Store
    public var queues: [Queue]
    public var limits: [Limit]
    public var process: Process
    /// The worst first; empty when the server is well.
    public var problems: [ServerProblem]

    public struct Calls: Codable, Equatable, Sendable {
        /// Live calls by state.
        public var live: [CallState: Int]
        /// Since the start.
        public var invited: Int
        public var answered: Int
        public var connected: Int
        public var ended: [EndReason: Int]
        /// Calls per second, averaged over the last ten seconds.
        public var invitedPerSecond: Double
        public var endedPerSecond: Double
        /// Over the last minute.
        public var endedLastMinute: [EndReason: Int]

        public init(
            live: [CallState: Int], invited: Int, answered: Int, connected: Int, ended: [EndReason: Int],
            invitedPerSecond: Double, endedPerSecond: Double, endedLastMinute: [EndReason: Int]
        ) {
            self.live = live
            self.invited = invited
            self.answered = answered
            self.connected = connected
            self.ended = ended
            self.invitedPerSecond = invitedPerSecond
            self.endedPerSecond = endedPerSecond
            self.endedLastMinute = endedLastMinute
        }

        enum CodingKeys: String, CodingKey {
            case live, invited, answered, connected, ended
            case invitedPerSecond = "invited_per_second"
            case endedPerSecond = "ended_per_second"
            case endedLastMinute = "ended_last_minute"
        }
    }

    public struct Sessions: Codable, Equatable, Sendable {
        public var online: Int
        public var away: Int
        public var connections: Int
        /// Since the start.
        public var resumed: Int

        public init(online: Int, away: Int, connections: Int, resumed: Int) {
            self.online = online
            self.away = away
            self.connections = connections
            self.resumed = resumed
        }
    }

    public struct Stage: Codable, Equatable, Sendable {
        public var stage: CallStage
        public var count: Int
        public var p50Milliseconds: Double
        public var p95Milliseconds: Double
        public var p99Milliseconds: Double
        public var maxMilliseconds: Double
        /// Inclusive upper bounds of the buckets; nil from a server without them.
        public var boundsMilliseconds: [Int]?
        /// Samples since the start by bucket; the last bucket has no upper bound.
        public var buckets: [Int]?

        public init(
            stage: CallStage, count: Int, p50Milliseconds: Double, p95Milliseconds: Double, p99Milliseconds: Double,
            maxMilliseconds: Double
        ) {
            self.stage = stage
            self.count = count
            self.p50Milliseconds = p50Milliseconds
            self.p95Milliseconds = p95Milliseconds
            self.p99Milliseconds = p99Milliseconds
            self.maxMilliseconds = maxMilliseconds
        }

        enum CodingKeys: String, CodingKey {
            case stage, count, buckets
            case boundsMilliseconds = "bounds_ms"
            case p50Milliseconds = "p50_ms"
            case p95Milliseconds = "p95_ms"
            case p99Milliseconds = "p99_ms"
            case maxMilliseconds = "max_ms"
        }
    }

    public struct Pushes: Codable, Equatable, Sendable {
        /// Pushes of calls in memory and of open notices, by provider status.
        public var provider: [ProviderStatus: Int]
        public var report: [ReportStatus: Int]
        public var violations: [String]
        /// Since the start.
        public var intended: Int
        public var devicesSuspended: Int

        public init(
            provider: [ProviderStatus: Int], report: [ReportStatus: Int], violations: [String], intended: Int,
            devicesSuspended: Int
        ) {
            self.provider = provider
            self.report = report
            self.violations = violations
            self.intended = intended
            self.devicesSuspended = devicesSuspended
        }

        enum CodingKeys: String, CodingKey {
            case provider, report, violations, intended
            case devicesSuspended = "devices_suspended"
        }
    }

    public struct PushPool: Codable, Equatable, Sendable {
        public var provider: PushProvider
        public var environment: PushEnvironment
        public var credential: String
        public var queued: Int
        public var oldestQueuedMilliseconds: Int64
        public var inFlight: Int
        public var connections: Int
        public var isCircuitOpen: Bool
        /// Since the start.
        public var accepted: Int
        public var rejected: Int
        public var unknown: Int
        public var goAways: Int

        public init(
            provider: PushProvider, environment: PushEnvironment, credential: String, queued: Int,
            oldestQueuedMilliseconds: Int64, inFlight: Int, connections: Int, isCircuitOpen: Bool, accepted: Int,
            rejected: Int, unknown: Int, goAways: Int
        ) {
            self.provider = provider
            self.environment = environment
            self.credential = credential
            self.queued = queued
            self.oldestQueuedMilliseconds = oldestQueuedMilliseconds
            self.inFlight = inFlight
            self.connections = connections
            self.isCircuitOpen = isCircuitOpen
            self.accepted = accepted
            self.rejected = rejected
            self.unknown = unknown
            self.goAways = goAways
        }

        enum CodingKeys: String, CodingKey {
            case provider, environment, credential, queued, connections, accepted, rejected, unknown
            case oldestQueuedMilliseconds = "oldest_queued_ms"
            case inFlight = "in_flight"
            case isCircuitOpen = "is_circuit_open"
            case goAways = "goaways"
        }
    }

    public struct Store: Codable, Equatable, Sendable {
        public var commits: Int
        public var rows: Int
        public var waiting: Int
        public var failures: Int
        /// Since the start.
        public var p50Milliseconds: Double
        public var p99Milliseconds: Double

        public init(
            commits: Int, rows: Int, waiting: Int, failures: Int, p50Milliseconds: Double, p99Milliseconds: Double
        ) {
            self.commits = commits
            self.rows = rows
            self.waiting = waiting
            self.failures = failures
            self.p50Milliseconds = p50Milliseconds
            self.p99Milliseconds = p99Milliseconds
        }

        enum CodingKeys: String, CodingKey {
            case commits, rows, waiting, failures
            case p50Milliseconds = "p50_ms"
            case p99Milliseconds = "p99_ms"
        }
    }

    /// A queue's length and capacity.
    public struct Queue: Codable, Equatable, Sendable {
        public var name: String
        public var depth: Int
        public var capacity: Int?

        public init(name: String, depth: Int, capacity: Int?) {
            self.name = name
            self.depth = depth
            self.capacity = capacity
        }
    }

    /// How often a limit was reached since the start; limits never reached are left out.
    public struct Limit: Codable, Equatable, Sendable {
        public var name: String
        public var hits: Int

        public init(name: String, hits: Int) {
            self.name = name
            self.hits = hits
        }
    }

    public struct Process: Codable, Equatable, Sendable {
        public var uptimeSeconds: Int64
        public var cpuSeconds: Double
        public var residentBytes: Int
        public var openFiles: Int
        public var maxFiles: Int

        public init(uptimeSeconds: Int64, cpuSeconds: Double, residentBytes: Int, openFiles: Int, maxFiles: Int) {
            self.uptimeSeconds = uptimeSeconds
            self.cpuSeconds = cpuSeconds
            self.residentBytes = residentBytes
            self.openFiles = openFiles
            self.maxFiles = maxFiles
        }

        enum CodingKeys: String, CodingKey {
            case uptimeSeconds = "uptime_seconds"
            case cpuSeconds = "cpu_seconds"
            case residentBytes = "resident_bytes"
            case openFiles = "open_files"
            case maxFiles = "max_files"
        }
    }

    public init(
        at: Timestamp, server: ServerInfo, calls: Calls, sessions: Sessions, stages: [Stage], pushes: Pushes,
        pushPools: [PushPool], store: Store, queues: [Queue], limits: [Limit], process: Process,
        problems: [ServerProblem]
    ) {
        self.at = at
        self.server = server
        self.calls = calls
        self.sessions = sessions
        self.stages = stages
        self.pushes = pushes
        self.pushPools = pushPools
        self.store = store
        self.queues = queues
        self.limits = limits
        self.process = process
        self.problems = problems
    }

    enum CodingKeys: String, CodingKey {
        case at, server, calls, sessions, stages, pushes, store, queues, limits, process, problems
        case pushPools = "push_pools"
    }
}
