import CallVocabulary
import Determinism
import Testing

@testable import LoadTest

@Suite("A plan") struct PlanTests {
    private func plan(_ scenario: LoadPlan.Scenario, _ pace: LoadPlan.Pace) -> LoadPlan {
        LoadPlan(scenario, pace: pace, target: .own(LoadTarget.OwnServer(executable: "")))
    }

    @Test(
        "has a place for each call of a closed loop, and in an open one for what is held and 2 s of arrivals"
    )
    func places() {
        #expect(plan(.online, .closed(concurrency: 12)).places == 12)
        var open = plan(.online, .open(rate: 1000))
        #expect(open.places == 64 + 2000)
        open.hold = .seconds(2)
        #expect(open.places == 64 + 4000)
        open.places = 7
        #expect(open.places == 7)
        var fanOut = plan(.fanout, .open(rate: 10))
        #expect(fanOut.places == 21)
        // Many devices to wake, on one thread.
        fanOut.fanOutAsleep = true
        #expect(fanOut.places == 51)
    }

    @Test("of a mixed load has the places that each part needs by its own share of the rate, unless they are given")
    func mixedPlaces() {
        var mixed = plan(.mixed, .open(rate: 200))
        func places() -> [Int] { mixed.mixedParts.map(\.places) }
        let names = mixed.mixedParts.map(\.name)
        #expect(names == ["online", "wake", "fanout", "churn"])
        // 140, 40, 10 and 10 a second, for 2 s.
        #expect(places() == [44 + 280, 16 + 80, 4 + 20, 16 + 20])
        #expect(mixed.places == places().reduce(0, +))
        mixed.fanOutAsleep = true
        #expect(places()[2] == 4 + 50)
        mixed.hold = .seconds(3)
        #expect(places() == [44 + 700, 16 + 200, 4 + 80, 16 + 50])
        // However small a part is, its operations may come at once.
        mixed = plan(.mixed, .open(rate: 1))
        #expect(places() == [44 + 2, 16 + 1, 4 + 1, 16 + 1])
        mixed.places = 200
        #expect(places() == [140, 40, 10, 10] && mixed.places == 200)
        mixed = plan(.mixed, .open(rate: 1))
        mixed.weights = [:]
        #expect(mixed.mixedParts.isEmpty && mixed.settled.threads == 1)
    }

    @Test("that takes more connections than there are descriptors is refused beforehand")
    func descriptors() throws {
        var register = plan(.register, .closed(concurrency: 10))
        register.sessions = 1000
        try register.check(descriptors: 1200)
        #expect(throws: LoadError.self) { try register.check(descriptors: 1199) }
        var online = plan(.online, .closed(concurrency: 50))
        online.sessions = 900
        try online.check(descriptors: 1200)
        #expect(throws: LoadError.self) { try online.check(descriptors: 1199) }
    }

    @Test("wakes phones by pushes only where its scenario does")
    func pushes() {
        #expect(!plan(.online, .closed(concurrency: 1)).needsPushes)
        #expect(plan(.wake, .closed(concurrency: 1)).needsPushes)
        var fanOut = plan(.fanout, .closed(concurrency: 1))
        #expect(!fanOut.needsPushes)
        fanOut.fanOutAsleep = true
        #expect(fanOut.needsPushes)
        var mixed = plan(.mixed, .closed(concurrency: 1))
        #expect(mixed.needsPushes)
        mixed.weights = [.online: 1, .churn: 1]
        #expect(!mixed.needsPushes)
    }

    @Test("divides its outcomes as the answer ratio says")
    func outcomes() {
        var generator = SeededGenerator(seed: 5)
        let drawn = (0..<10_000).map { _ in CallOutcome.random(answerRatio: 0.6, using: &generator) }
        #expect(abs(drawn.count { $0 == .answered } - 6000) < 200)
        #expect(abs(drawn.count { $0 == .declined } - 2000) < 150)
        #expect(abs(drawn.count { $0 == .cancelled } - 2000) < 150)
        #expect((0..<1000).allSatisfy { _ in CallOutcome.random(answerRatio: 1, using: &generator) == .answered })
    }

    @Test("a candidate carries its number there and back, and no other candidate has one")
    func candidateNumbers() {
        let numbers = CandidateNumbers(count: 64)
        #expect((0..<64).allSatisfy { numbers.number(of: numbers[$0]) == $0 })
        #expect(numbers.number(of: CandidateNumbers(count: 65)[64]) == nil)
        #expect(numbers.number(of: RawJSON(bytes: Array("{}".utf8))) == nil)
    }

    @Test("the server's metrics are read by name and by series")
    func metrics() {
        let metrics = ServerMetrics(
            text: """
                # HELP process_cpu_seconds_total CPU time.
                process_cpu_seconds_total 12.5
                reveille_connections{shard="0"} 3
                reveille_connections{shard="1"} 4
                reveille_ledger_violations 0
                not a metric
                """)
        #expect(metrics.cpu == .milliseconds(12_500))
        #expect(metrics["reveille_connections"] == 7)
        #expect(metrics["reveille_connections", #"shard="1""#] == 4)
        #expect(metrics.ledgerViolations == 0)
        #expect(metrics["unknown"] == nil)
    }
}
