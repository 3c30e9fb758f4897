import CallCore
import CallStore
import CallVocabulary
import PushClient
import PushCore
import StoreInterface
import Testing

@testable import CallServer

@Suite("Readiness")
struct ReadinessTests {
    private static func core(isDraining: Bool = false, violations: [String] = []) -> CoreSnapshot {
        CoreSnapshot(
            counters: CoreCounters(), ledger: LedgerCounts(), ledgerViolations: violations, census: .empty,
            liveCalls: 0, onlineSessions: 0, isDraining: isDraining, commitsPending: 0, inboxRefused: 0)
    }

    private static func push(_ change: (inout PushStatistics.Pool) -> Void = { _ in }) -> PushStatistics {
        var pool = PushStatistics.Pool(environment: .production)
        change(&pool)
        var statistics = PushStatistics()
        statistics.pools = [pool, PushStatistics.Pool(environment: .sandbox)]
        return statistics
    }

    private static func problems(
        store: StoreFailure? = nil, isLeaseHeld: Bool = true, core: CoreSnapshot? = core(),
        push: PushStatistics = push()
    ) -> [String] {
        Readiness(
            store: store, isLeaseHeld: isLeaseHeld, core: core, push: push, now: Instant(milliseconds: 1000),
            date: Instant(milliseconds: 1000)
        ).problems
    }

    @Test("a server is ready if all of its parts work")
    func ready() {
        #expect(Self.problems() == [])
    }

    @Test("each failing part is named, with the reason")
    func problems() {
        let failure = StoreFailure(.diskFull, path: "/data", detail: "no space left")
        #expect(Self.problems(store: failure) == ["store: \(failure)"])
        #expect(Self.problems(store: failure, isLeaseHeld: false) == ["store: \(failure)"])
        #expect(
            Self.problems(isLeaseHeld: false) == [
                "store: the lease has run out; another server may be the realm's home"
            ])
        #expect(Self.problems(core: nil) == ["core: not running"])
        #expect(Self.problems(core: Self.core(isDraining: true)) == ["draining: this server takes no new calls"])
        #expect(Self.problems(core: Self.core(violations: ["a", "b"])) == ["ledger: a", "ledger: b"])
        let waiting = Self.push { $0.queueDepth = 2 }
        #expect(Self.problems(push: waiting) == ["push: 2 waiting, without a connection to APNs production"])
        let sending = Self.push {
            $0.queueDepth = 2
            $0.openConnections = 1
        }
        #expect(Self.problems(push: sending) == [])
        let held = Self.push {
            $0.queueDepth = 2
            $0.held = 2
        }
        #expect(Self.problems(push: held) == [])
        #expect(Self.problems(store: failure, core: nil, push: waiting).count == 3)
    }

    @Test("a topic whose tokens are all refused is named, with advice")
    func suspectTopic() {
        let push = Self.push {
            $0.suspectTopics = [SuspectTopic(topic: "a.voip", reason: "BadDeviceToken", refusals: 3)]
            $0.allRefusedAt = Instant(milliseconds: 1000)
        }
        var made = push
        made.pools[0].allRefusedAt = nil
        #expect(Self.problems(push: made) == [], "a topic that a client may have made up")
        made.pools[0].allRefusedAt = Instant(milliseconds: 1000) + (.zero - Readiness.refusalsCount)
        #expect(Self.problems(push: made) == [], "long ago")
        let words = Self.problems(push: push)
        #expect(words.count == 1)
        let begin = "push: APNs production has refused the last 3 pushes to a.voip (BadDeviceToken): "
        #expect(words[0].hasPrefix(begin) && words[0].contains("environment") && words[0].contains("kept"))
    }

    @Test("a client certificate is a problem only after its expiration")
    func certificate() {
        #expect(Self.problems(push: Self.push { $0.certificateExpiresAt = Instant(milliseconds: 1001) }) == [])
        let words = "the certificate has expired on 1970-01-01: APNs takes nothing until it is replaced"
        #expect(
            Self.problems(push: Self.push { $0.certificateExpiresAt = Instant(milliseconds: 1000) })
                == ["push: APNs production: \(words)"])
    }

    @Test(
        "a credential that failed three times in a row is named, with advice",
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
        let statistics = Self.push { pool in
            for failures in 1...2 {
                pool.credential.note(alarm)
                #expect(pool.credential.failures == failures)
                #expect(pool.credential.problem == nil)
            }
            pool.credential.note(alarm)
        }
        #expect(Self.problems(push: statistics) == ["push: APNs production \(words)"])
    }
}
