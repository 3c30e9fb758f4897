import AdminProtocol
import AdminServer
import CallCore
import CallMonitor
import CallVocabulary
import EventLoop
import Logging
import PostgresStore
import PushClient
import PushCore
import StoreInterface
import Synchronization
import WebSocketServer
import WebhookClient

/// Asks all parts of a running server what ``ServerFacts/problems`` judges, and logs which problems begin and end. May be
/// used from any thread.
final class ProblemWatch: Sendable {
    private static let interval = Duration.seconds(5)

    /// What takes longer to ask than a health check may wait.
    private struct Kept {
        var webhooks: [WebhookView] = []
        var identity: ServerFacts.IdentityKeys?
        var missingAdminSocket: String?
        var missingFiles: [(setting: String, path: String)] = []
        var openFiles = 0
        var rings: (all: UInt64, slow: UInt64) = (0, 0)
        var history: CountHistory
        var known = KnownProblems()
    }

    private let parts: ServerParts
    private let webSockets: WebSocketServer
    private let certificates: ListenerCertificates
    private let adminSocket: SocketAddress
    private let logLinesDropped: @Sendable () -> UInt64
    private let logFailure: @Sendable () -> String?
    private let hasRefusedReload: @Sendable () -> Bool
    private let missingFiles: @Sendable () -> [(setting: String, path: String)]
    private let monitor: @Sendable () async -> LiveFigures?
    private let start: Instant
    private let kept: Mutex<Kept>

    /// - Parameter monitor: returns nil once the monitor has stopped.
    init(
        _ parts: ServerParts, _ webSockets: WebSocketServer, _ certificates: ListenerCertificates,
        adminSocket: SocketAddress, logLinesDropped: @escaping @Sendable () -> UInt64,
        logFailure: @escaping @Sendable () -> String?, hasRefusedReload: @escaping @Sendable () -> Bool,
        missingFiles: @escaping @Sendable () -> [(setting: String, path: String)],
        monitor: @escaping @Sendable () async -> LiveFigures?
    ) {
        self.parts = parts
        self.webSockets = webSockets
        self.certificates = certificates
        self.adminSocket = adminSocket
        self.logLinesDropped = logLinesDropped
        self.logFailure = logFailure
        self.hasRefusedReload = hasRefusedReload
        self.missingFiles = missingFiles
        self.monitor = monitor
        let now = parts.clock.now()
        start = now
        kept = Mutex(Kept(history: CountHistory(start: now)))
    }

    /// Looks every few seconds, until the task is cancelled.
    func run() async {
        // While a part does not answer, what the others say is told.
        async let asking: Void = repeating { await self.ask() }
        await repeating { await self.look() }
        await asking
    }

    private func repeating(_ body: @Sendable () async -> Void) async {
        while !Task.isCancelled {
            await body()
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// The problems at this moment: what the core, the store and the push client say is new, all else a few seconds old.
    func problems() async -> [ServerProblem] { facts(await parts.core.snapshot()).problems }

    /// Asks the parts that may answer late: a disk that hangs stops the thread of the webhooks.
    func ask() async {
        let webhooks = await parts.webhooks.endpoints()
        let identity = await parts.tokens.identityKeys()
        let rings = await monitor().map { Self.rings($0.stages) }
        let missing = Self.distinct(
            missingFiles() + TurnConfiguration.missing(parts.turn.missingSecret)
                // Those of a realm are in its database.
                + (parts.store.homeLease == nil ? parts.tokens.missingSecrets : []))
        let missingSocket = adminSocket.path.flatMap { FileStatus(path: $0) == nil ? $0 : nil }
        let files = ProcessFigures.now().openFiles ?? 0
        kept.withLock { kept in
            (kept.webhooks, kept.identity) = (webhooks, identity)
            (kept.missingFiles, kept.openFiles) = (missing, files)
            kept.missingAdminSocket = missingSocket
            if let rings { kept.rings = rings }
        }
    }

    /// Each file once.
    static func distinct(_ files: [(setting: String, path: String)]) -> [(setting: String, path: String)] {
        var paths: Set<String> = []
        return files.filter { paths.insert($0.path).inserted }
    }

    private func look() async {
        let facts = facts(await parts.core.snapshot())
        // A core that stops at a shutdown is no problem.
        guard !Task.isCancelled else { return }
        let (told, over) = kept.withLock { kept in
            kept.history.add(facts.counts, at: facts.now)
            return kept.known.take(facts.problems, at: facts.now)
        }
        for problem in told { Self.tell(problem, parts.log) }
        for problem in over { parts.log.notice("problem over", metadata: Self.metadata(problem)) }
    }

    /// Logs a problem that has begun.
    static func tell(_ problem: ServerProblem, _ log: Logger) {
        log.log(
            level: problem.severity == .critical ? .error : .warning, "problem: \(problem.words)",
            metadata: metadata(problem))
    }

    private static func metadata(_ problem: ServerProblem) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["problem": .string(problem.code.rawValue)]
        if let subject = problem.subject { metadata["subject"] = .string(subject) }
        return metadata
    }

    func facts(_ core: CoreSnapshot?) -> ServerFacts {
        var facts = ServerFacts(of: parts, core: core, start: start)
        facts.certificates = certificates.distinct
        facts.maxFiles = DescriptorLimit.current
        facts.hasRefusedReload = hasRefusedReload()
        facts.logFailure = logFailure()
        kept.withLock { kept in
            facts.webhooks = kept.webhooks
            facts.identity = kept.identity
            facts.missingFiles = kept.missingFiles
            facts.missingAdminSocket = kept.missingAdminSocket
            facts.openFiles = kept.openFiles
            facts.history = kept.history
            (facts.counts[.rings], facts.counts[.slowRings]) = (kept.rings.all, kept.rings.slow)
        }
        let listener = webSockets.statistics
        facts.counts[.connectionsEvicted] = listener.evicted
        facts.counts[.limit("connections")] = listener.refused
        facts.counts[.connectionsShutOut] = listener.full
        facts.counts[.acceptPauses] = listener.exhausted
        facts.counts[.logLinesDropped] = logLinesDropped()
        for (name, loop) in LoopMetrics.loops(core: parts.core.loop, shards: webSockets.shardLoops) {
            facts.counts[.busy(name)] = UInt64(max(0, loop.statistics.busy.wholeMilliseconds))
        }
        return facts
    }

    private static func rings(_ stages: StageLatencies) -> (all: UInt64, slow: UInt64) {
        let histogram = stages.histogram(of: .inviteToRinging)
        // A bound of the histogram.
        let quick = StageLatencies.bounds.lastIndex { $0 <= ServerFacts.longestRing }
        return (histogram.count, histogram.count - (quick.map { histogram.cumulative[$0] } ?? 0))
    }
}

extension ServerFacts {
    /// What the parts say at this moment, without the listeners.
    init(of parts: ServerParts, core: CoreSnapshot?, start: Instant) {
        self.init(now: parts.clock.now(), date: parts.clock.wallTime(), start: start)
        let (log, lease) = (parts.store.recordLog, parts.store.homeLease)
        store = Store(log, lease: lease.map { (isHeld: $0.term.isHeld, standbys: $0.term.standbys.count) })
        pools = parts.push.statistics.pools.map { Pool($0, now: now) }
        let hook = parts.authorization.figures
        authorization = Authorization(hook, now: now)
        counts[.authorizationsAsked] = hook.counts.values.reduce(0, +)
        counts[.authorizationsOfOneUser] = hook.failedOfOneUser
        counts[.authorizationsFailed] = (hook.counts[.failed] ?? 0) + (hook.counts[.skipped] ?? 0)
        queues = [
            StatsView.Queue(name: "core", depth: parts.core.inbox.count, capacity: parts.core.inbox.capacity),
            StatsView.Queue(name: "store", depth: log.waiting, capacity: log.capacity),
        ]
        count(log.statistics, parts)
        guard let core else { return }
        self.core = Core(core)
        queues.append(StatsView.Queue(name: "commits", depth: core.commitsPending, capacity: CoreLoop.pendingCommits))
        count(core)
    }

    private mutating func count(_ commits: CommitStatistics, _ parts: ServerParts) {
        counts[.commits] = commits.latency.count
        counts[.slowCommits] = Self.above(Self.slowCommit, commits.latency)
        counts[.hungCommits] = Self.above(Self.longestCommit, commits.latency)
        counts[.storeFailures] = commits.failures
        counts[.callsRefused] = parts.counters.lateCalls
        count(parts.sessions.counters)
        for limit in RateLimit.allCases { counts[.limit(limit.rawValue)] = parts.rates[limit].refused }
        // Certificates of several apps are pools of one name.
        for pool in parts.push.statistics.pools {
            counts[.pushesEnded(pool.name), default: 0] += pool.ended
            counts[.pushesFailed(pool.name), default: 0] += pool.failed
        }
        let clock = parts.clock.figures
        counts[.clockSteps] = clock.stepsForward + clock.stepsBackward
        counts[.suspensions] = clock.suspensions
    }

    private static func above(_ limit: Duration, _ times: LatencyCounts) -> UInt64 {
        // Each bound is twice the one before it, so that these buckets have no duration below the limit.
        let first = LatencyCounts.bounds.firstIndex { $0 >= limit * 2 } ?? LatencyCounts.bounds.count
        return times.buckets[first...].reduce(0, +)
    }

    mutating func count(_ sessions: SessionCounters) {
        // What connects and asks for no session is a probe, or a client at fault.
        for (outcome, count) in sessions.opens where outcome != .notOpened {
            counts[.sessionsAsked, default: 0] += count
            if !outcome.isSession { counts[.sessionsRefused, default: 0] += count }
        }
    }

    mutating func count(_ core: CoreSnapshot) {
        counts[.coreRefused] = core.inboxRefused
        counts[.devicesSuspended] = core.counters.devicesSuspended
        for (reason, count) in zip(EndReason.allCases, core.counters.callsEnded) {
            counts[.callsEnded, default: 0] += count
            counts[.callsEndedWith(reason)] = count
        }
        for (reason, count) in core.counters.callsOfOneCaller { counts[.callsOfOneCaller(reason)] = count }
        for limit in CoreLimit.allCases { counts[.limit(limit.rawValue)] = core.counters.hits(of: limit) }
    }
}

extension ServerFacts.Store {
    /// - Parameter lease: of a realm's home.
    init(_ log: any RecordLog, lease: (isHeld: Bool, standbys: Int)?) {
        self.init()
        let commits = log.statistics
        failure = log.failure.map { "\($0)" }
        isLeaseHeld = lease?.isHeld ?? true
        commitWaits = log.waitingSince.map { $0.duration(to: .now) }
        storage = lease == nil ? "disk" : "database"
        damage = log.pages.damage.map { "\($0)" }
        checkpointFailure = commits.checkpointFailure.map { "\($0)" }
        linked = commits.linked.map { "\($0.path): \($0.detail)" }
        behind = commits.behindSince.map { $0.duration(to: .now) } ?? .zero
        standbys = lease?.standbys
    }
}

extension ServerFacts.Authorization {
    init(_ hook: AuthorizationHook.Figures, now: Instant) {
        self.init()
        unanswered = Dictionary(uniqueKeysWithValues: hook.unanswered.map { ($0.key.rawValue, now - $0.value) })
        inVain = Dictionary(uniqueKeysWithValues: hook.inVain.map { ($0.key.rawValue, $0.value) })
        refusing = Dictionary(uniqueKeysWithValues: hook.refusing.map { ($0.key.rawValue, $0.value) })
        answersInARow = hook.answersInARow.values.min() ?? 0
        isDenying = hook.isDenying
    }
}

extension ServerFacts.Core {
    init(_ core: CoreSnapshot) {
        self.init()
        isDraining = core.isDraining
        violations = core.ledgerViolations
        for status in ReportStatus.allCases { reports[status] = core.ledger.count(status) }
    }
}

extension ServerFacts.Pool {
    init(_ pool: PushStatistics.Pool, now: Instant) {
        self.init(name: pool.name)
        topics = pool.topics?.sorted()
        lines = pool.lines.map { line in
            var facts = Line(
                name: line.name, waiting: line.waiting, oldest: line.oldestWaiting.map { now - $0 },
                connections: line.openConnections)
            facts.cutOffFor = line.cutOffAt.map { now - $0 }
            facts.overdueFor = line.overdueAt.map { now - $0 }
            facts.failure = line.connectionFailure
            return facts
        }
        credential = pool.credential.problem(advice: pool.advice)
        suspects = pool.suspectTopics.map {
            (topic: $0.topic, words: $0.problem(hasEnvironments: pool.provider == .apns))
        }
        allRefusedFor = pool.allRefusedAt.map { now - $0 }
        certificateEnds = pool.certificateExpiresAt
        isOfDevices = pool.provider == .webpush
    }
}
