import AdminProtocol
import CallVocabulary
import Foundation
import Testing

@testable import CallMonitor

@Suite("The list of a server's problems")
struct ServerProblemTests {
    private static let start = Instant(milliseconds: 1_800_000_000_000)
    private static let now = start + .seconds(3600)

    /// Of a server in order, one hour after its start.
    private static func facts(_ change: (inout ServerFacts) -> Void = { _ in }) -> ServerFacts {
        var facts = ServerFacts(now: now, date: now, start: start)
        facts.core = ServerFacts.Core()
        facts.store.standbys = 1
        facts.pools = [ServerFacts.Pool(name: "APNs")]
        facts.certificates = [ServerFacts.Certificate(listener: "signal", ends: now + ServerFacts.listenerWarning)]
        facts.identity = ServerFacts.IdentityKeys(hasKeys: true, failures: 0)
        facts.webhooks = [WebhookView(name: "billing", url: "", events: [], state: .active, backlog: 0)]
        facts.queues = [StatsView.Queue(name: "core", depth: 50, capacity: 100)]
        (facts.openFiles, facts.maxFiles) = (90, 100)
        facts.history.add([:], at: now + .seconds(-900))
        change(&facts)
        return facts
    }

    private static func ends(in time: Duration) -> Instant { now + time }

    /// How a problem comes about, and whether the server is unready then.
    struct Cause: Sendable, CustomTestStringConvertible {
        let code: ServerProblem.Code
        let isUnready: Bool
        let change: @Sendable (inout ServerFacts) -> Void
        var testDescription: String { code.rawValue }

        init(_ code: ServerProblem.Code, _ isUnready: Bool, _ change: @escaping @Sendable (inout ServerFacts) -> Void) {
            (self.code, self.isUnready, self.change) = (code, isUnready, change)
        }
    }

    private static let causes: [Cause] =
        storeCauses + pushCauses + backendCauses + [
            Cause(.coreStopped, true) { $0.core = nil },
            Cause(.draining, true) { $0.core?.isDraining = true },
            Cause(.adminSocketMissing, false) { $0.missingAdminSocket = "/var/lib/reveille/admin.sock" },
            Cause(.ledgerViolated, true) { $0.core?.violations = ["a law"] },
            Cause(.coreBehind, false) { $0.queues[0].depth = 51 },
            Cause(.coreBehind, false) { $0.counts[.coreRefused] = 1 },
            Cause(.coreBehind, false) { $0.counts[.callsRefused] = 11 },
            Cause(.loopBusy, false) { $0.counts[.busy("core")] = 811_000 },
            Cause(.sessionsRefused, false) {
                $0.counts = [.sessionsAsked: 21, .sessionsRefused: 11]
            },
            Cause(.callsFailing, false) {
                $0.counts = [.callsEnded: 21, .callsEndedWith(.noDevices): 5]
            },
            Cause(.ringingSlow, false) { $0.counts = [.rings: 21, .slowRings: 1] },
            Cause(.limitsHit, false) { $0.counts[.limit("invites_per_user")] = 11 },
            Cause(.connectionsFull, false) { $0.counts[.connectionsEvicted] = 11 },
            Cause(.connectionsFull, false) { $0.counts[.connectionsShutOut] = 11 },
            Cause(.descriptorsLow, false) { $0.openFiles = 91 },
            Cause(.descriptorsLow, false) { $0.counts[.acceptPauses] = 11 },
            Cause(.clockSet, false) { $0.counts[.clockSteps] = 1 },
            Cause(.machineSuspended, false) { $0.counts[.suspensions] = 1 },
            Cause(.logLinesDropped, false) { $0.counts[.logLinesDropped] = 1 },
        ]

    private static let storeCauses: [Cause] = [
        Cause(.storeFailing, true) { $0.store.failure = "no space left" },
        Cause(.storeFailing, false) { $0.counts[.storeFailures] = 4 },
        Cause(.storeHangs, true) { $0.store.commitWaits = .milliseconds(3001) },
        Cause(.storeHangs, false) { $0.counts = [.commits: 2, .hungCommits: 2] },
        Cause(.storeDamaged, true) { $0.store.damage = "page 7" },
        Cause(.checkpointsFail, false) { $0.store.checkpointFailure = "no space left" },
        Cause(.storeLinked, false) { $0.store.linked = "a file has two names" },
        Cause(.storeBehind, false) { $0.store.behind = .milliseconds(5001) },
        Cause(.storeBehind, false) { $0.counts = [.commits: 99, .slowCommits: 1] },
        Cause(.storeBehind, false) {
            $0.queues.append(StatsView.Queue(name: "commits", depth: 129, capacity: 256))
        },
        Cause(.noHome, true) { $0.store.isLeaseHeld = false },
        Cause(.noStandby, false) { $0.store.standbys = 0 },
    ]

    private static let pushCauses: [Cause] = [
        Cause(.pushesUnreported, false) { $0.core?.reports = [.reported: 4, .unreported: 2] },
        Cause(.devicesSuspended, false) { $0.counts[.devicesSuspended] = 1 },
        Cause(.pushDisconnected, true) {
            $0.pools[0].lines = [
                ServerFacts.Pool.Line(name: "APNs", waiting: 1, oldest: .milliseconds(2001), connections: 0)
            ]
        },
        Cause(.pushDisconnected, true) {
            $0.pools[0].lines = [
                ServerFacts.Pool.Line(name: "APNs", waiting: 1, oldest: .milliseconds(10_001), connections: 0)
            ]
        },
        Cause(.pushQueueOld, true) {
            $0.pools[0].lines = [
                ServerFacts.Pool.Line(name: "APNs", waiting: 1, oldest: .milliseconds(10_001), connections: 1)
            ]
        },
        // Of pushes that were given up; the provider may be back before the next one.
        Cause(.pushDisconnected, true) { $0.pools[0].lines = [givenUp(.zero, connections: 0)] },
        Cause(.pushDisconnected, false) { $0.pools[0].lines = [givenUp(.seconds(60), connections: 0)] },
        Cause(.pushQueueOld, true) { $0.pools[0].lines = [givenUp(.zero, connections: 1)] },
        Cause(.pushQueueOld, false) { $0.pools[0].lines = [givenUp(.seconds(60), connections: 1)] },
        Cause(.pushesFailing, true) { $0.counts = [.pushesEnded("APNs"): 3, .pushesFailed("APNs"): 3] },
        // Nobody calls through a server that is not ready, so that it would stay so.
        Cause(.pushesFailing, false) {
            $0.counts = [.pushesEnded("APNs"): 3, .pushesFailed("APNs"): 3]
            $0.history.add($0.counts, at: Self.now + .seconds(-60))
        },
        Cause(.pushesFailing, false) { $0.counts = [.pushesEnded("APNs"): 14, .pushesFailed("APNs"): 3] },
        Cause(.pushesFailing, false) {
            $0.pools[0].isOfDevices = true
            $0.counts = [.pushesEnded("APNs"): 3, .pushesFailed("APNs"): 3]
        },
        Cause(.pushQueueOld, false) {
            $0.pools[0].isOfDevices = true
            $0.pools[0].lines = [
                ServerFacts.Pool.Line(name: "APNs", waiting: 1, oldest: .milliseconds(10_001), connections: 1)
            ]
        },
        Cause(.credentialRefused, true) { $0.pools[0].credential = "has refused" },
        Cause(.credentialRefused, false) {
            $0.pools[0].isOfDevices = true
            $0.pools[0].credential = "has refused"
        },
        Cause(.tokensRefused, false) { $0.pools[0].suspects = [(topic: "a.voip", words: "has refused")] },
        Cause(.tokensRefused, true) {
            $0.pools[0].suspects = [(topic: "a.voip", words: "has refused")]
            $0.pools[0].allRefusedFor = .zero
        },
        Cause(.tokensRefused, false) {
            $0.pools[0].isOfDevices = true
            $0.pools[0].suspects = [(topic: "a.voip", words: "has refused")]
            $0.pools[0].allRefusedFor = .zero
        },
        Cause(.certificateExpiring, false) { $0.pools[0].certificateEnds = Self.ends(in: .seconds(30 * 86_400 - 1)) },
        Cause(.certificateEnds, false) { $0.pools[0].certificateEnds = Self.ends(in: .seconds(86_399)) },
        Cause(.certificateExpired, true) { $0.pools[0].certificateEnds = Self.ends(in: .zero) },
    ]

    /// The queue of a provider for which nothing waits any more.
    private static func givenUp(_ age: Duration, connections: Int) -> ServerFacts.Pool.Line {
        var line = ServerFacts.Pool.Line(name: "APNs", waiting: 0, connections: connections)
        if connections == 0 { line.cutOffFor = age } else { line.overdueFor = age }
        return line
    }

    private static let backendCauses: [Cause] = [
        Cause(.listenerCertificateExpiring, false) {
            $0.certificates[0].ends = Self.ends(in: .seconds(14 * 86_400 - 1))
        },
        Cause(.certificateEnds, false) { $0.certificates[0].ends = Self.ends(in: .seconds(86_399)) },
        Cause(.certificateExpired, true) { $0.certificates[0].ends = Self.ends(in: .zero) },
        Cause(.certificateExpired, false) {
            $0.certificates.append(ServerFacts.Certificate(listener: "admin", ends: Self.ends(in: .zero)))
        },
        Cause(.authorizationDown, true) {
            ($0.authorization.unanswered, $0.authorization.isDenying) = (["invite": .zero], true)
        },
        // Nobody asks a server that is not ready, so that it would stay so.
        Cause(.authorizationDown, false) {
            ($0.authorization.unanswered, $0.authorization.isDenying) = (["session": .seconds(600)], true)
        },
        Cause(.authorizationDown, false) { $0.authorization.unanswered = ["invite": .zero] },
        Cause(.authorizationDown, false) {
            $0.authorization.unanswered = ["invite": .zero]
            $0.counts = [.authorizationsAsked: 21, .authorizationsFailed: 21]
        },
        Cause(.authorizationDown, false) {
            ($0.authorization.unanswered, $0.authorization.inVain) = (["invite": .zero], ["invite": 5])
        },
        Cause(.authorizationFailing, false) { $0.authorization.refusing = ["invite": 404] },
        Cause(.authorizationFailing, false) {
            ($0.authorization.inVain, $0.authorization.isDenying) = (["invite": 5], true)
            $0.counts = [.authorizationsAsked: 21, .authorizationsFailed: 21]
        },
        Cause(.authorizationFailing, false) { $0.counts = [.authorizationsAsked: 21, .authorizationsFailed: 5] },
        Cause(.identityKeysOld, false) {
            $0.identity = ServerFacts.IdentityKeys(hasKeys: true, failures: 1, overdue: .seconds(60))
        },
        Cause(.identityKeysAbsent, true) {
            $0.identity = ServerFacts.IdentityKeys(hasKeys: false, failures: 1)
        },
        Cause(.filesMissing, false) { $0.missingFiles = [("turn.secret_file", "/etc/reveille/turn-secret")] },
        Cause(.reloadRefused, false) { $0.hasRefusedReload = true },
        Cause(.webhookFailing, false) { $0.webhooks[0].state = .failing },
        Cause(.webhookFailing, false) { $0.webhooks[0].state = .disabled },
        Cause(.webhookFailing, false) { $0.webhooks[0].state = .paused },
        Cause(.webhookBacklog, false) { $0.webhooks[0].oldestAt = Timestamp(Self.now + .milliseconds(-900_001)) },
    ]

    /// What a standby finds: it has no core.
    private static let ofStandbys: Set<ServerProblem.Code> = [.standbyCutOff, .secretsDiffer]

    @Test("a server in order has none")
    func none() {
        #expect(Self.facts().problems == [])
        #expect(ServerFacts.isReady([]))
    }

    @Test("each has a cause, and no other problem comes with it", arguments: causes)
    func one(cause: Cause) {
        let problems = Self.facts(cause.change).problems
        #expect(problems.map(\.code) == [cause.code])
        #expect(ServerFacts.isReady(problems) == !cause.isUnready)
        #expect(problems.allSatisfy { !$0.words.isEmpty && $0.severity == cause.code.severity })
    }

    @Test("all have a cause")
    func all() {
        #expect(Set(Self.causes.map(\.code)).union(Self.ofStandbys) == Set(ServerProblem.Code.allCases))
    }

    @Test(
        "each outlasts the time after which its alarm fires, when nobody waits any more and nothing more is counted",
        arguments: causes)
    func life(cause: Cause) throws {
        var facts = Self.facts(cause.change)
        let delay = try Self.delay(of: cause.code)
        facts.history = CountHistory(start: Self.start)
        for second in stride(from: -900, to: 0, by: 30) { facts.history.add([:], at: Self.now + .seconds(second)) }
        for second in stride(from: 0, through: delay, by: 30) {
            facts.history.add(facts.counts, at: Self.now + .seconds(second))
        }
        facts.now = Self.now + .seconds(delay)
        facts.date = facts.now
        facts.pools[0].lines = facts.pools[0].lines.map { line in
            let age = line.cutOffFor ?? line.overdueFor ?? .zero
            return Self.givenUp(age + .seconds(delay), connections: line.connections)
        }
        #expect(facts.problems.map(\.code).contains(cause.code), "\(delay) s later")
    }

    @Test("a push that was given up is none after ten minutes")
    func longAgo() {
        for connections in 0...1 {
            let facts = Self.facts {
                $0.pools[0].lines = [Self.givenUp(ServerFacts.refusalsCount, connections: connections)]
            }
            #expect(facts.problems == [])
        }
    }

    @Test("a provider without a connection is named with the reason and what to check, the same words while none waits")
    func reason() throws {
        var waits = ServerFacts.Pool.Line(name: "APNs", waiting: 3, oldest: .seconds(3), connections: 0)
        var over = Self.givenUp(.zero, connections: 0)
        (waits.failure, over.failure) = ("connect: Connection refused", "connect: Connection refused")
        let words = try [waits, over].map { line in
            try #require(Self.facts { $0.pools[0].lines = [line] }.problems.first).words
        }
        for part in ["connect: Connection refused", "network", "DNS", "firewall"] { #expect(words[0].contains(part)) }
        #expect(words[0].replacing("3 waiting", with: "0 waiting") == words[1])
    }

    @Test("a failure of the store is not named twice, and is no whole sentence")
    func storeWords() {
        let failure = "store /data: a write failed. Check the disk."
        for facts in [Self.facts { $0.store.failure = failure }, Self.facts { $0.store.damage = failure }] {
            #expect(facts.problems.map(\.words) == ["store /data: a write failed. Check the disk"])
        }
        let other = Self.facts { $0.store.failure = "no space left" }
        #expect(other.problems.map(\.words) == ["store: no space left"])
    }

    @Test("the end of a certificate has a time of day within two days of it")
    func timeOfDay() {
        // The clock of these tests stands at 09:00.
        for (time, words) in [(Duration.seconds(75), "2027-01-15 09:01 UTC"), (.seconds(2 * 86_400), "2027-01-17:")] {
            let facts = Self.facts { $0.certificates[0].ends = Self.ends(in: time) }
            #expect(facts.problems.allSatisfy { $0.words.contains(words) }, "\(facts.problems.map(\.words))")
            #expect(facts.problems.count == 1)
        }
    }

    @Test("log lines that are lost have the reason while there is one")
    func logFailure() {
        for failure in [nil, "No space left on device"] {
            let problem = Self.facts {
                ($0.counts[.logLinesDropped], $0.logFailure) = (7, failure)
            }.problems.first
            #expect(problem?.words.contains("7 lines were dropped") == true)
            #expect(problem?.words.contains("cannot be written: No space left on device") == (failure != nil))
        }
    }

    @Test("a push that waits for the first handshake is none")
    func handshake() {
        for oldest in [nil, .zero, .milliseconds(2000)] as [Duration?] {
            let facts = Self.facts {
                $0.pools[0].lines = [
                    ServerFacts.Pool.Line(name: "APNs", waiting: 1, oldest: oldest, connections: 0)
                ]
            }
            #expect(facts.problems == [])
        }
    }

    @Test("few failures among many pushes and questions are none")
    func few() {
        let facts = Self.facts {
            $0.counts = [
                .pushesEnded("APNs"): 15, .pushesFailed("APNs"): 3, .authorizationsAsked: 25, .authorizationsFailed: 5,
            ]
        }
        #expect(facts.problems == [])
    }

    @Test("what fails for one user alone is none, but what fails for others too")
    func oneUser() {
        let cases: [(others: UInt64, codes: Set<ServerProblem.Code>)] = [
            (5, []), (6, [.callsFailing, .authorizationFailing]),
        ]
        for (others, codes) in cases {
            let facts = Self.facts {
                $0.counts = [
                    .callsEnded: 125, .callsEndedWith(.noDevices): 100 + others, .callsOfOneCaller(.noDevices): 100,
                    .authorizationsAsked: 125, .authorizationsFailed: 100 + others, .authorizationsOfOneUser: 100,
                ]
            }
            #expect(Set(facts.problems.map(\.code)) == codes)
        }
    }

    @Test("what grew before the window is over")
    func window() {
        let facts = Self.facts {
            $0.counts = [
                .clockSteps: 7, .limit("invites_per_user"): 500, .storeFailures: 9, .devicesSuspended: 2,
                .acceptPauses: 30, .pushesEnded("APNs"): 9, .pushesFailed("APNs"): 9, .authorizationsAsked: 50,
                .authorizationsFailed: 50,
            ]
            $0.history = CountHistory(start: Self.start)
            $0.history.add($0.counts, at: Self.now + .seconds(-900))
        }
        #expect(facts.problems == [])
    }

    @Test("the history is bounded, and has a sample of each window")
    func history() {
        var history = CountHistory(start: Self.start)
        for second in 0..<7200 { history.add([.rings: UInt64(second)], at: Self.start + .seconds(second)) }
        let end = Self.start + .seconds(7200)
        for window in [300, 600, 900] {
            let (counts, time) = history.growth(to: [.rings: 7200], over: .seconds(window), at: end)
            #expect((window...window + 30).contains(Int(counts[.rings] ?? 0)))
            #expect(time >= .seconds(window) && time <= .seconds(window + 30))
        }
    }

    @Test("the worst is first, and the log gets a line at the beginning, at the end and once a day")
    func log() {
        var facts = Self.facts {
            $0.core?.isDraining = true
            $0.counts[.coreRefused] = 1
            $0.store.standbys = 0
        }
        #expect(facts.problems.map(\.code) == [.draining, .coreBehind, .noStandby])
        var known = KnownProblems()
        #expect(known.take(facts.problems, at: Self.now).told == facts.problems)
        #expect(known.take(facts.problems, at: Self.now + .seconds(60)).told == [])
        facts.store.standbys = 1
        let (told, over) = known.take(facts.problems, at: Self.now + KnownProblems.repetition)
        #expect(told.map(\.code) == [.draining, .coreBehind])
        #expect(over.map(\.code) == [.noStandby])
    }

    @Test("the log gets a line when a problem is told in other words, not in other numbers, and few in a day")
    func otherWords() {
        var known = KnownProblems()
        func told(_ words: String) -> [String] {
            known.take([ServerProblem(.authorizationFailing, of: "invite", words)], at: Self.now).told.map(\.words)
        }
        #expect(told("the last 5 questions had no answer") == ["the last 5 questions had no answer"])
        #expect(told("the last 16 questions had no answer") == [])
        #expect(told("the status 404") == ["the status 404"])
        #expect(told("the last 17 questions had no answer") == [], "in turns with others")
        let others = (0..<26).map { "words " + String(UnicodeScalar(UInt8(97 + $0))) }
        #expect(others.flatMap(told).count == KnownProblems.mostWords - 2)
        #expect(known.take([], at: Self.now).over.map(\.words) == [others[25]])
        #expect(told("the status 404") == ["the status 404"], "begun anew")
    }

    @Test("two problems of one kind and subject have a line each")
    func sameSubject() {
        let problems = ["the certificate", "the topic"].map { ServerProblem(.tokensRefused, of: "APNs", $0) }
        var known = KnownProblems()
        #expect(known.take(problems, at: Self.now).told == problems)
        #expect(known.take(problems, at: Self.now).told == [])
        let (told, over) = known.take([problems[1]], at: Self.now)
        #expect(told.isEmpty && over.isEmpty)
        #expect(known.take([], at: Self.now).over == [problems[1]])
    }

    @Test("a backend that refused everybody and now fails is told to fail, for the question concerned")
    func refusalsBefore() {
        for isUnanswered in [false, true] {
            let facts = Self.facts {
                $0.authorization.refusing = ["invite": 404, "session": 404]
                if isUnanswered {
                    $0.authorization.unanswered = ["invite": .zero]
                } else {
                    $0.authorization.inVain = ["invite": 8]
                }
            }
            let found = facts.problems
            #expect(found.filter { $0.subject == "invite" }.count == 1 && found.count == 2)
            #expect(found.filter { $0.words.contains("404") }.map(\.subject) == ["session"])
        }
    }

    @Test("pushes that failed are over after twenty in a row that did not")
    func mendedPushes() {
        let cases: [(ended: UInt64, codes: [ServerProblem.Code])] = [(35, [.pushesFailing]), (36, [])]
        for (ended, codes) in cases {
            let facts = Self.facts {
                $0.history.add([.pushesEnded("APNs"): 16, .pushesFailed("APNs"): 16], at: Self.now + .seconds(-90))
                $0.history.add([.pushesEnded("APNs"): 20, .pushesFailed("APNs"): 16], at: Self.now + .seconds(-60))
                $0.counts = [.pushesEnded("APNs"): ended, .pushesFailed("APNs"): 16]
            }
            #expect(facts.problems.map(\.code) == codes)
        }
    }

    @Test("questions that failed are over after twenty valid answers in a row")
    func mended() {
        let cases: [(answers: Int, codes: [ServerProblem.Code])] = [(19, [.authorizationFailing]), (20, [])]
        for (answers, codes) in cases {
            let facts = Self.facts {
                $0.counts = [.authorizationsAsked: 36, .authorizationsFailed: 16]
                $0.authorization.answersInARow = answers
            }
            #expect(facts.problems.map(\.code) == codes)
        }
    }

    // MARK: Alarms

    private static func text(_ path: String) throws -> String {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: package.appending(path: path), encoding: .utf8)
    }

    private static func alarms() throws -> [String: String] {
        let text = try text("Resources/prometheus/alerts.yml")
        let parts = text.components(separatedBy: "- alert: ").dropFirst()
        return Dictionary(
            uniqueKeysWithValues: parts.map { (String($0.prefix { $0 != "\n" }), $0) })
    }

    /// For how many seconds a problem must last until its alarm fires.
    private static func delay(of code: ServerProblem.Code) throws -> Int {
        let text = try #require(alarms()[alarm(of: code)])
        guard let found = text.firstMatch(of: /\n +for: ([0-9]+)([smh])\n/) else { return 0 }
        let number = try #require(Int(found.1))
        switch found.2 {
        case "s": return number
        case "m": return number * 60
        default: return number * 3600
        }
    }

    /// `ReveilleStoreFailing`
    private static func alarm(of code: ServerProblem.Code) -> String {
        "Reveille" + code.rawValue.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// Alarms of a server that has no list, and of the list as a whole.
    private static let others: Set<String> = ["ReveilleDown", "ReveilleNotReady"]

    /// Alarms that do not read the list: what each of them reads instead.
    private static let ofOwnSeries: [ServerProblem.Code: String] = [
        // A node that stands by, or does not answer, has no list.
        .noHome: "reveille_realm_lease_remaining_seconds", .noStandby: "reveille_realm_home",
        .standbyCutOff: "reveille_realm_reachable",
        // The series of the same fact, with a label that the alarm shows.
        .credentialRefused: "reveille_push_circuit_open", .tokensRefused: "reveille_push_suspect_topics",
        .certificateExpiring: "reveille_push_certificate_expiry_timestamp_seconds",
        .listenerCertificateExpiring: "reveille_tls_certificate_expiry_timestamp_seconds",
        .certificateEnds: "reveille_tls_certificate_expiry_timestamp_seconds",
        .loopBusy: "reveille_loop_busy_seconds_total", .webhookFailing: "reveille_webhook_active",
        .webhookBacklog: "reveille_webhook_oldest_seconds", .limitsHit: "reveille_limits_hit_total",
        // The series of the same fact, which other tools know too.
        .ledgerViolated: "reveille_ledger_violations", .draining: "reveille_draining",
        .storeFailing: "reveille_store_failing",
        .storeDamaged: "reveille_store_damaged", .checkpointsFail: "reveille_store_checkpoints_failing",
        .coreBehind: "reveille_calls_refused_by_overload_total",
        .clockSet: "reveille_clock_steps_total", .machineSuspended: "reveille_clock_suspensions_total",
        .logLinesDropped: "reveille_log_lines_dropped_total",
        // An alarm's value is the share or the time.
        .pushesUnreported: "reveille_push_reports", .sessionsRefused: "reveille_session_opens_total",
        .ringingSlow: "reveille_call_stage_duration_seconds_bucket",
    ]

    @Test("each has the alarm of its name, with its severity, and each alarm has its problem")
    func alarmsAndProblems() throws {
        let alarms = try Self.alarms()
        let named = Set(ServerProblem.Code.allCases.map(Self.alarm))
        #expect(Set(alarms.keys) == named.union(Self.others))
        for code in ServerProblem.Code.allCases {
            let text = try #require(alarms[Self.alarm(of: code)])
            let severity = code.severity == .critical ? "page" : "ticket"
            #expect(text.contains("labels: {severity: \(severity)}"), "\(code)")
            let list = "reveille_problems{problem=\"\(code.rawValue)\"}"
            #expect(text.contains(list) == (Self.ofOwnSeries[code] == nil), "\(code)")
            if let series = Self.ofOwnSeries[code] { #expect(text.contains(series), "\(code)") }
        }
    }

    @Test("each has a row in the article for operators, with its severity")
    func article() throws {
        let lines = try Self.text("Sources/CallServer/CallServer.docc/Operations.md").split(separator: "\n")
        let rows = lines.filter { $0.contains(/^\| `[a-z_]+` \| (?:critical|warning) \|/) }
        #expect(rows.count == ServerProblem.Code.allCases.count)
        for code in ServerProblem.Code.allCases {
            #expect(rows.contains { $0.hasPrefix("| `\(code.rawValue)` | \(code.severity.rawValue) |") }, "\(code)")
        }
    }

    @Test(
        "the limits of problems are those of their alarms",
        arguments: [
            (ServerProblem.Code.certificateEnds, "< \(ServerFacts.lastDay.components.seconds),"),
            (.certificateExpiring, "< \(ServerFacts.pushWarning.components.seconds / 86_400) * 86400\n"),
            (.listenerCertificateExpiring, "< \(ServerFacts.listenerWarning.components.seconds / 86_400) * 86400\n"),
            (.storeBehind, "> \(ServerFacts.longestBehind.components.seconds)\n"),
            (.ringingSlow, "> \(ServerFacts.longestRing.components.seconds)\n"),
            (.webhookBacklog, "> \(ServerFacts.oldestEvent.components.seconds)\n"),
        ])
    func limits(code: ServerProblem.Code, limit: String) throws {
        #expect(try #require(Self.alarms()[Self.alarm(of: code)]).contains(limit))
    }
}
