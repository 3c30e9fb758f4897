import CallVocabulary
import EventLoop
import LogCapture
import Testing

@testable import CallServer

@Suite("Admission of new calls")
struct CallAdmissionTests {
    /// An admission whose loads the test sets.
    private final class World {
        let clocks = FakeClocks()
        let counters = SignalCounters()
        let lines = LogLines()
        var shard = LoopLoad(turn: .zero, lastTurn: .zero, turns: 0)
        var core = LoopLoad(turn: .zero, lastTurn: .zero, turns: 0)
        var commitWait: Duration?

        subscript(loop: Loop) -> LoopLoad {
            get { loop == .shard ? shard : core }
            set { if loop == .shard { shard = newValue } else { core = newValue } }
        }

        lazy var admission = CallAdmission(
            clock: ServerClock(clocks.sources), counters: counters, log: lines.logger(),
            loads: { [unowned self] in (shard, core) }, commitWait: { [unowned self] in commitWait })

        func isAccepted() -> Bool { admission.refusal(for: 1) == nil }

        /// Ends a turn of a loop, then offers calls in the next turn.
        /// - Returns: the number of calls accepted.
        func turn(_ time: Duration, of loop: Loop = .shard, then calls: Int) -> Int {
            clocks.pass(time)
            self[loop].lastTurn = time
            self[loop].turns += 1
            return (0..<calls).count { _ in isAccepted() }
        }
    }

    enum Loop: CaseIterable { case shard, core }

    @Test(
        "one long turn after short ones is a burst: its calls are accepted until it has run for 250 ms",
        arguments: Loop.allCases)
    func burst(_ loop: Loop) {
        let world = World()
        #expect(world.turn(.milliseconds(1), then: 10) == 10)
        world[loop].turn = .milliseconds(250)
        #expect(world.isAccepted())
        world[loop].turn = .milliseconds(251)
        #expect(!world.isAccepted())
        world[loop].turn = .zero
        #expect(world.turn(.milliseconds(100), of: loop, then: 1000) == 1000)
    }

    @Test("after 100 ms of long turns, a turn accepts as many calls as fit into 35 ms", arguments: Loop.allCases)
    func standing(_ loop: Loop) {
        let world = World()
        #expect(world.turn(.milliseconds(1), of: loop, then: 1) == 1)
        #expect(world.turn(.milliseconds(100), of: loop, then: 1000) == 1000)
        #expect(world.turn(.milliseconds(100), of: loop, then: 1000) == 1000)
        // The last turn took 50 ms for 1000 calls. Every eight refusals let one more call in.
        #expect(world.turn(.milliseconds(50), of: loop, then: 1000) == 700 + 33)
        #expect(world.turn(.milliseconds(100), of: loop, then: 1000) == 560 + 48)
        #expect(world.turn(.milliseconds(40), of: loop, then: 1000) == 490 + 56)
        // After a short turn that refused calls, the next turn accepts a few more.
        #expect(world.turn(.milliseconds(35), of: loop, then: 1000) == 514 + 54)
        #expect(world.turn(.milliseconds(20), of: loop, then: 300) == 300)
        #expect(world.turn(.milliseconds(20), of: loop, then: 1000) == 540 + 51)
    }

    @Test("while other requests queue, as after a restart, each turn accepts 8 calls")
    func returningClients() {
        let world = World()
        world.shard = LoopLoad(turn: .milliseconds(30), lastTurn: .milliseconds(200), turns: 10)
        #expect(world.isAccepted())
        for _ in 1...10 { _ = world.turn(.milliseconds(200), then: 1) }
        #expect(world.turn(.milliseconds(200), then: 15) == 8)
        #expect(world.turn(.milliseconds(200), then: 15) == 8)
    }

    @Test("one user's flood gets a quarter of the window, and the calls of others go on at once")
    func shares() throws {
        let world = World()
        for _ in 1...10 { _ = world.turn(.milliseconds(200), then: 8) }
        let flooding = try #require(Handle("mallory"))
        let others = try (0..<6).map { try #require(Handle("user\($0)")) }
        let taken = (0..<100).count { _ in world.admission.refusal(for: 1, of: flooding) == nil }
        #expect(taken == 2)
        #expect(others.allSatisfy { world.admission.refusal(for: 2, of: $0) == nil })
        // The share is that of one turn.
        _ = world.turn(.milliseconds(200), then: 0)
        #expect(world.admission.refusal(for: 1, of: flooding) == nil)
    }

    @Test("of the calls beyond the window, a turn accepts one after each eight refusals")
    func refusals() {
        let world = World()
        for _ in 1...10 { _ = world.turn(.milliseconds(200), then: 8) }
        let outcomes = (0..<35).map { _ in world.isAccepted() }
        let refused = Array(repeating: false, count: 8)
        #expect(outcomes == refused + [true] + refused + [true] + refused + [true] + refused)
    }

    @Test("one long turn after a pause without calls is a burst")
    func pause() {
        let world = World()
        for pause in [Duration.seconds(10), .milliseconds(200)] {
            _ = world.turn(.milliseconds(30), then: 1)
            world.clocks.pass(pause)
            world.shard.turns += 20
            #expect(world.turn(.milliseconds(30), then: 1000) == 1000)
        }
    }

    @Test("calls that a slow disk refuses do not change how many a turn accepts")
    func disk() {
        let world = World()
        for _ in 1...5 { _ = world.turn(.milliseconds(60), then: 100) }
        let accepted = world.turn(.milliseconds(60), then: 100)
        #expect(accepted < 50)
        world.commitWait = .milliseconds(501)
        for _ in 1...900 { #expect(world.turn(.milliseconds(1), then: 1) == 0) }
        world.commitWait = nil
        // The refusals by the window before let it grow once.
        #expect((accepted...accepted + 3).contains(world.turn(.milliseconds(1), then: 100)))
    }

    @Test("short turns of one loop do not hide long turns of the other")
    func otherLoop() {
        let world = World()
        _ = world.turn(.milliseconds(1), then: 1)
        for _ in 1...3 {
            for _ in 1...20 { _ = world.turn(.milliseconds(3), then: 10) }
            // Its own time has passed meanwhile.
            world.core.lastTurn = .milliseconds(60)
            world.core.turns += 1
            _ = world.isAccepted()
        }
        #expect((0..<1000).count { _ in world.isAccepted() } < 300)
    }

    @Test("a second without a refusal ends the overload")
    func calm() {
        let world = World()
        _ = world.turn(.milliseconds(1), then: 1)
        for _ in 1...3 { _ = world.turn(.milliseconds(60), then: 100) }
        #expect(world.turn(.milliseconds(60), then: 100) < 60)
        world.clocks.pass(.seconds(1))
        #expect(world.turn(.milliseconds(1), then: 100) == 100)
    }

    @Test("several turns between two calls count with their average duration")
    func quiet() {
        let world = World()
        _ = world.turn(.milliseconds(1), then: 1)
        for _ in 1...10 {
            world.clocks.pass(.milliseconds(100))
            world.shard.turns += 50
            world.shard.lastTurn = .milliseconds(60)
            #expect(world.isAccepted())
        }
        #expect((0..<1000).allSatisfy { _ in world.isAccepted() })
    }

    @Test("a commit that takes longer than 500 ms refuses calls")
    func commit() {
        let world = World()
        world.commitWait = .milliseconds(500)
        #expect(world.isAccepted())
        world.commitWait = .milliseconds(501)
        #expect(!world.isAccepted())
    }

    @Test("refused callers are told to retry after 1 to 2 s, spread evenly; each refusal is counted")
    func spread() {
        let world = World()
        world.commitWait = .seconds(1)
        let waits = (1...2000).map { world.admission.refusal(for: $0)?.code }
        let expected = (1...2000).map { SignalError.Code.overloaded(retryAfter: .milliseconds(1000 + $0 % 1024)) }
        #expect(waits == expected)
        #expect(world.counters.lateCalls == 2000)
    }

    @Test("the log has one line in 30 s, with the number of refusals since the last one")
    func log() {
        let world = World()
        world.commitWait = .seconds(1)
        for _ in 1...3 { _ = world.isAccepted() }
        let words = "warning the server is overloaded; new calls are refused times="
        #expect(world.lines.take() == [words + "1"])
        world.clocks.pass(.seconds(30))
        _ = world.isAccepted()
        #expect(world.lines.take() == [words + "3"])
    }
}
