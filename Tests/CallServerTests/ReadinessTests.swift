import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import LibWebSockets
import PushClient
import PushCore
import StoreInterface
import Testing

@testable import CallServer

@Suite("What the parts of a server say about themselves")
struct ReadinessTests {
    private static let now = Instant(milliseconds: 1000)

    private static func problems(_ change: (inout PushStatistics.Pool) -> Void) -> [ServerProblem] {
        var pool = PushStatistics.Pool(environment: .production)
        change(&pool)
        var facts = ServerFacts(now: now, date: now, start: now)
        facts.core = ServerFacts.Core()
        facts.pools = [
            ServerFacts.Pool(pool, now: now),
            ServerFacts.Pool(PushStatistics.Pool(environment: .sandbox), now: now),
        ]
        return facts.problems
    }

    @Test("metrics on loopback are for requests that name an address or localhost")
    func hosts() {
        for own in [nil, "localhost", "LOCALHOST:7352", "127.0.0.1", "127.0.0.2:80", "[::1]", "[::1]:7352"] {
            #expect(MetricsListener.isOwn(own), "\(own ?? "none")")
        }
        for other in ["", "evil.example", "evil.example:7352", "localhost.evil.example", "127.0.0.1.evil", "[::1"] {
            #expect(!MetricsListener.isOwn(other), "\(other)")
        }
    }

    @Test("a problem is one line for operators, whatever it quotes")
    func line() {
        let words = "the hook: \u{1B}]0;t\u{7}\r\nready\u{202E}" + String(repeating: "x", count: 10_000)
        let problems = [ServerProblem(.authorizationDown, of: "invite", isUnready: true, words)]
        for standsBy in [nil, "standby: \n\u{9B}2J"] {
            let body = HTTPRoutes.readiness(problems, standsBy: standsBy, .operator).body
            let text = String(decoding: body, as: UTF8.self)
            #expect(text.split(separator: "\n").count == (standsBy == nil ? 1 : 2) && text.utf8.count < 3000)
            #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || !$0.isHarmfulOnTerminals })
        }
    }

    @Test("of the core: a drain, and broken laws")
    func core() {
        var facts = ServerFacts(now: Self.now, date: Self.now, start: Self.now)
        facts.core = ServerFacts.Core(
            CoreSnapshot(
                counters: CoreCounters(), ledger: LedgerCounts(), ledgerViolations: ["a", "b"], census: .empty,
                liveCalls: 0, onlineSessions: 0, isDraining: true, commitsPending: 0, inboxRefused: 0))
        #expect(facts.problems.map(\.code) == [.draining, .ledgerViolated, .ledgerViolated])
    }

    @Test("of the core: what is counted since its start")
    func counts() throws {
        var core = CoreSnapshot(
            counters: CoreCounters(), ledger: LedgerCounts(), ledgerViolations: [], census: .empty, liveCalls: 0,
            onlineSessions: 0, isDraining: false, commitsPending: 0, inboxRefused: 1)
        core.ledger.add(2, status: .accepted, report: .unreported)
        core.ledger.add(4, status: .accepted, report: .reported)
        core.counters.devicesSuspended = 1
        let noDevices = try #require(EndReason.allCases.firstIndex(of: .noDevices))
        core.counters.callsEnded[noDevices] = 24
        core.counters.callsOfOneCaller[.noDevices] = 3
        func codes() -> Set<ServerProblem.Code> {
            var facts = ServerFacts(now: Self.now, date: Self.now, start: Self.now)
            facts.queues = [StatsView.Queue(name: "core", depth: 0, capacity: 100)]
            facts.core = ServerFacts.Core(core)
            facts.count(core)
            return Set(facts.problems.map(\.code))
        }
        #expect(codes() == [.pushesUnreported, .devicesSuspended, .callsFailing, .coreBehind])
        core.counters.callsOfOneCaller[.noDevices] = 4
        #expect(codes() == [.pushesUnreported, .devicesSuspended, .coreBehind])
    }

    /// A log of which nothing is asked but how it is.
    private struct FakeLog: RecordLog {
        var failure: StoreFailure?
        var waitingSince: ContinuousClock.Instant?
        var statistics = CommitStatistics()
        var retention = RetentionStatistics()
        var pages = PageCheckStatistics()
        var capacity: Int { 100 }
        var waiting: Int { 0 }

        func commit(
            batch: [StoreRecord], then completion: @escaping @Sendable (Result<CommitReceipt, StoreFailure>) -> Void
        ) -> Bool { false }

        func settle(_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void) {}

        func startMaintenance(
            _ policy: RetentionPolicy, now: @escaping @Sendable () -> Instant,
            onDamage: @escaping @Sendable (StoreFailure) -> Void
        ) {}

        func close() async {}
    }

    @Test("of the store: each fault of its log, and the lease")
    func store() {
        func codes(
            _ lease: (isHeld: Bool, standbys: Int)? = nil, _ change: (inout FakeLog) -> Void = { _ in }
        ) -> [ServerProblem.Code] {
            var log = FakeLog()
            change(&log)
            var facts = ServerFacts(now: Self.now, date: Self.now, start: Self.now)
            facts.core = ServerFacts.Core()
            facts.store = ServerFacts.Store(log, lease: lease)
            return facts.problems.map(\.code)
        }
        let failure = StoreFailure(.diskFull, path: "/data", detail: "no space left")
        let long = ContinuousClock.now - .seconds(60)
        #expect(codes() == [] && codes((isHeld: true, standbys: 1)) == [])
        #expect(codes(nil) { $0.failure = failure } == [.storeFailing])
        #expect(codes(nil) { $0.waitingSince = long } == [.storeHangs])
        #expect(codes(nil) { $0.pages.damage = failure } == [.storeDamaged])
        #expect(codes(nil) { $0.statistics.checkpointFailure = failure } == [.checkpointsFail])
        #expect(codes(nil) { $0.statistics.linked = failure } == [.storeLinked])
        #expect(codes(nil) { $0.statistics.behindSince = long } == [.storeBehind])
        #expect(codes((isHeld: false, standbys: 1)) == [.noHome])
        #expect(codes((isHeld: true, standbys: 0)) == [.noStandby])
    }

    @Test("of the authorization hook: no answers, none that is valid, and one status")
    func hook() {
        func problems(_ change: (inout AuthorizationHook.Figures) -> Void) -> [ServerProblem] {
            var figures = AuthorizationHook.Figures()
            change(&figures)
            var facts = ServerFacts(now: Self.now, date: Self.now, start: Self.now)
            facts.core = ServerFacts.Core()
            facts.authorization = ServerFacts.Authorization(figures, now: Self.now)
            return facts.problems
        }
        let down = problems { ($0.unanswered, $0.isDenying) = ([.invite: Self.now], true) }
        #expect(down.map(\.code) == [.authorizationDown] && down.map(\.isUnready) == [true])
        #expect(problems { $0.inVain = [.session: 5] }.map(\.code) == [.authorizationFailing])
        #expect(problems { $0.refusing = [.invite: 404] }.map(\.code) == [.authorizationFailing])
        var figures = AuthorizationHook.Figures()
        figures.answersInARow = [.invite: 30, .session: 7]
        #expect(ServerFacts.Authorization(figures, now: Self.now).answersInARow == 7)
    }

    @Test("of a provider: held pushes need no connection")
    func pushes() {
        #expect(Self.problems { _ in } == [])
        let long = Self.now + .milliseconds(-2001)
        let disconnected = Self.problems {
            ($0.queueDepth, $0.oldestWaiting, $0.connectionFailure) = (2, long, "connect: Connection refused")
        }
        #expect(disconnected.map(\.code) == [.pushDisconnected])
        let words = disconnected.first?.words ?? ""
        #expect(words.hasPrefix("push: no connection to APNs production (connect: Connection refused), 2 waiting: "))
        #expect(Self.problems { $0.cutOffAt = Self.now }.map(\.code) == [.pushDisconnected])
        #expect(Self.problems { ($0.overdueAt, $0.openConnections) = (Self.now, 1) }.map(\.code) == [.pushQueueOld])
        #expect(PushPolicy().longestHandshake == ServerFacts.longestHandshake)
        #expect(PushPolicy().longestWait == ServerFacts.longestWait)
        #expect(Self.problems { ($0.queueDepth, $0.oldestWaiting) = (2, Self.now) } == [])
        #expect(Self.problems { ($0.queueDepth, $0.openConnections) = (2, 1) } == [])
        #expect(Self.problems { ($0.queueDepth, $0.held) = (2, 2) } == [])
    }

    @Test("of a provider: a topic whose tokens are all refused, with advice")
    func suspectTopic() throws {
        func problem(_ refusedAt: Instant?) throws -> ServerProblem {
            try #require(
                Self.problems {
                    $0.suspectTopics = [SuspectTopic(topic: "a.voip", reason: "BadDeviceToken", refusals: 3)]
                    $0.allRefusedAt = refusedAt
                }.first)
        }
        #expect(try !problem(nil).isUnready, "a topic that a client may have made up")
        #expect(try !problem(Self.now + (.zero - ServerFacts.refusalsCount)).isUnready, "long ago")
        let found = try problem(Self.now)
        #expect(found.isUnready)
        let begin = "push: APNs production has refused the last 3 pushes to a.voip (BadDeviceToken): "
        #expect(found.words.hasPrefix(begin) && found.words.contains("environment") && found.words.contains("kept"))
        let project = SuspectTopic(topic: "a", reason: "SENDER_ID_MISMATCH", refusals: 3)
        #expect(!project.problem(hasEnvironments: false).contains("environment"))
    }

    @Test(
        "of a provider: a credential that failed three times in a row, with advice",
        arguments: [
            (
                PushAlarm.credentialRefused(reason: "InvalidProviderToken"),
                "has refused the credential 3 times in a row (InvalidProviderToken): check key id, team id and key"
            ),
            (.clockSkew, "has called 3 new provider tokens in a row expired: check this machine's clock"),
            (
                .signingFailed(reason: "no entropy"),
                "cannot be sent to: no provider token could be signed 3 times in a row (no entropy)"
            ),
        ])
    func credential(alarm: PushAlarm, words: String) {
        let found = Self.problems { pool in
            for failures in 1...2 {
                pool.credential.note(alarm)
                #expect(pool.credential.failures == failures)
                #expect(pool.credential.problem == nil)
            }
            pool.credential.note(alarm)
        }
        #expect(
            found == [
                ServerProblem(
                    .credentialRefused, of: "APNs production", isUnready: true, "push: APNs production \(words)")
            ])
    }

    @Test("of sessions: connections that asked for none do not count")
    func sessions() {
        let counters = SessionCounters()
        for outcome in [SessionOutcome.opened, .resumed, .woken, .badToken, .denied, .notOpened, .notOpened] {
            counters.count(outcome)
        }
        var facts = ServerFacts(now: Self.now, date: Self.now, start: Self.now)
        facts.count(counters)
        #expect(facts.counts == [.sessionsAsked: 5, .sessionsRefused: 2])
    }

    @Test("of the identity provider: keys are old once they are past their age")
    func keys() {
        var schedule = KeySetSchedule(now: Self.now)
        #expect(schedule.overdue(at: Self.now) == nil)
        schedule.succeeded(at: Self.now, maxAge: .seconds(600))
        let due = Self.now + .seconds(600)
        #expect(schedule.overdue(at: due) == nil)
        schedule.failed(at: due)
        #expect(schedule.overdue(at: due + .seconds(90)) == .seconds(90))
    }
}
