import EventJournal
import EventLoop
import Glibc
import Synchronization
import Testing

@Suite("An event loop")
struct EventLoopTests {
    /// Keeps what has to be released on the loop's thread; the box itself may go anywhere.
    private final class Box<Content> {
        var content: Content?
    }

    @Test("runs jobs in order on its own thread, those given before the start too")
    func order() async throws {
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<Int>()
        for number in 0..<100 { loop.execute { journal.append(number) } }
        #expect(!loop.isCurrent)
        loop.start()
        for number in 100..<200 { loop.execute { journal.append(number) } }
        let isCurrent = await loop.run { loop.isCurrent }
        #expect(isCurrent == true)
        #expect(journal.entries == Array(0..<200))
        await loop.stopAndWait()
    }

    @Test("one for the background has a lower priority than its process, and it and one in batches interrupt nobody")
    func background() async throws {
        let process = Int32(PRIO_PROCESS.rawValue)
        let own = getpriority(process, UInt32(getpid()))
        let policy = sched_getscheduler(getpid())
        // SCHED_BATCH of linux/sched.h.
        let batch: Int32 = 3
        for (scheduling, niceness, expected) in [
            (ThreadScheduling.ordinary, own, policy), (.background, min(own + 5, 19), batch), (.batch, own, batch),
        ] {
            let loop = try EventLoop(name: "loop test", scheduling: scheduling)
            loop.start()
            let (measured, policy) = try #require(await loop.run { (getpriority(process, 0), sched_getscheduler(0)) })
            #expect(measured == niceness && policy == expected, "\(scheduling)")
            await loop.stopAndWait()
        }
    }

    @Test("an ordinary one that a thread in batches has started interrupts others as the process does")
    func inheritance() async throws {
        let (outer, inner) = (try EventLoop(name: "outer", scheduling: .batch), try EventLoop(name: "inner"))
        outer.start()
        _ = try #require(await outer.run { inner.start() })
        let policy = try #require(await inner.run { sched_getscheduler(0) })
        #expect(policy == sched_getscheduler(getpid()))
        await inner.stopAndWait()
        await outer.stopAndWait()
    }

    @Test("runs what was given before the stop, refuses what comes after, and lets several wait for its end")
    func stop() async throws {
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<Int>()
        loop.start()
        for number in 0..<50 { loop.execute { journal.append(number) } }
        async let first: Void = loop.stopAndWait()
        async let second: Void = loop.stopAndWait()
        _ = await (first, second)
        await loop.stopAndWait()
        #expect(journal.entries == Array(0..<50))
        #expect(!loop.execute { journal.append(-1) })
        #expect(await loop.run { 1 } == nil)
        #expect(journal.entries.count == 50)
    }

    @Test("stays until a hold has ended, even when asked to stop before")
    func hold() async throws {
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<String>()
        loop.start()
        _ = await loop.run { loop.beginHold() }
        loop.stop()
        // Still there: the stop was asked for before this.
        #expect(await loop.run { journal.append("held") } != nil)
        loop.execute {
            journal.append("ended")
            loop.endHold()
        }
        await loop.stopAndWait()
        #expect(journal.entries == ["held", "ended"])
    }

    @Test("calls at the end of each turn, after the jobs of the turn")
    func turns() async throws {
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<String>()
        for number in 0..<3 { loop.execute { journal.append("job \(number)") } }
        let box = LoopBound(Box<LoopTurn>(), on: loop)
        loop.execute { box.value.content = LoopTurn(loop: loop) { journal.append("turn") } }
        loop.start()
        try await journal.wait(for: "turn")
        #expect(journal.entries.prefix(4) == ["job 0", "job 1", "job 2", "turn"])
        _ = await loop.run { box.value.content = nil }
        let count = journal.entries.count
        _ = await loop.run {}
        _ = await loop.run {}
        #expect(journal.entries.count == count)
        await loop.stopAndWait()
    }

    @Test("does what its jobs lead to before it waits, and calls at the end of the turn again after it")
    func jobsOfJobs() async throws {
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<String>()
        loop.start()
        let box = LoopBound(Box<LoopTurn>(), on: loop)
        _ = await loop.run {
            box.value.content = LoopTurn(loop: loop) { if journal.entries.last != "turn" { journal.append("turn") } }
            loop.execute {
                journal.append("second")
                loop.atEndOfTurn { journal.append("end") }
                loop.execute { journal.append("third") }
            }
            journal.append("first")
        }
        // Nothing else wakes the loop.
        try await journal.wait(for: "the end") { $0.count >= 7 }
        #expect(journal.entries == ["first", "turn", "second", "turn", "end", "third", "turn"])
        _ = await loop.run { box.value.content = nil }
        await loop.stopAndWait()
    }

    @Test("calls at the end of the turn again after what was left until then, and what was made there, before it waits")
    func endOfEnd() async throws {
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<String>()
        loop.start()
        let (first, second) = (LoopBound(Box<LoopTurn>(), on: loop), LoopBound(Box<LoopTurn>(), on: loop))
        _ = await loop.run {
            var isOpen = false
            first.value.content = LoopTurn(loop: loop) {
                if isOpen { journal.append("seen") }
                isOpen = false
            }
            // Comes while the jobs are run that are left until the end.
            loop.atEndOfTurn { isOpen = true }
        }
        await #expect(throws: Never.self) { try await journal.wait(for: "seen") }
        _ = await loop.run { first.value.content = nil }
        // No job is left until the end, and there is no other to be called.
        _ = await loop.run {
            first.value.content = LoopTurn(loop: loop) {
                guard second.value.content == nil else { return }
                second.value.content = LoopTurn(loop: loop) { journal.append("new") }
            }
        }
        await #expect(throws: Never.self) { try await journal.wait(for: "new") }
        _ = await loop.run {
            first.value.content = nil
            second.value.content = nil
        }
        #expect(journal.entries.prefix(2) == ["seen", "new"])
        await loop.stopAndWait()
    }

    @Test("waits when what is left until the end of the turn is done")
    func waits() async throws {
        let (loop, peer) = (try EventLoop(name: "loop test"), try EventLoop(name: "peer"))
        let journal = Journal<UInt64>()
        loop.start()
        peer.start()
        let (box, timer) = (LoopBound(Box<LoopTurn>(), on: loop), LoopBound(Box<LoopTimer>(), on: peer))
        _ = await loop.run {
            box.value.content = LoopTurn(loop: loop) {}
            loop.atEndOfTurn { loop.atEndOfTurn {} }
            loop.execute { loop.atEndOfTurn {} }
        }
        _ = await peer.run {
            timer.value.content = LoopTimer(loop: peer) { journal.append(loop.statistics.turns.reduce(0, +)) }
            timer.value.content?.start(after: .milliseconds(100))
        }
        try await journal.wait(for: "the timer") { !$0.isEmpty }
        // That of the job, and the first one, which began with the thread.
        #expect(journal.entries[0] <= 2)
        _ = await loop.run { box.value.content = nil }
        _ = await peer.run { timer.value.content = nil }
        await loop.stopAndWait()
        await peer.stopAndWait()
    }

    @Test("runs each job of a chain, however long, though nothing else wakes it")
    func chain() async throws {
        final class Chain: Sendable {
            let left = Atomic<Int>(100)
            func goOn(_ loop: EventLoop, _ journal: Journal<String>) {
                if left.subtract(1, ordering: .relaxed).newValue == 0 { return journal.append("the last") }
                loop.execute { self.goOn(loop, journal) }
            }
        }
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<String>()
        loop.start()
        _ = await loop.run {}
        let chain = Chain()
        loop.execute { chain.goOn(loop, journal) }
        try await journal.wait(for: "the last")
        await loop.stopAndWait()
    }

    @Test("gives way to timers and jobs before what is put off to its next turn")
    func nextTurn() async throws {
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<String>()
        loop.start()
        let box = LoopBound(Box<LoopTimer>(), on: loop)
        _ = await loop.run {
            let timer = LoopTimer(loop: loop) { journal.append("timer") }
            box.value.content = timer
            loop.inNextTurn {
                journal.append("next")
                timer.start(after: .zero)
                loop.inNextTurn { journal.append("the one after") }
                loop.execute { journal.append("job") }
            }
        }
        try await journal.wait(for: "the one after")
        #expect(journal.entries == ["next", "timer", "job", "the one after"])
        _ = await loop.run { box.value.content = nil }
        await loop.stopAndWait()
    }

    @Test("turns to timers and other threads, however long its jobs lead to jobs")
    func endlessJobs() async throws {
        final class Endless: Sendable {
            let loop: EventLoop
            let isOver = Atomic<Bool>(false)
            init(_ loop: EventLoop) { self.loop = loop }
            func goOn() { loop.execute { if !self.isOver.load(ordering: .relaxed) { self.goOn() } } }
        }
        let loop = try EventLoop(name: "loop test")
        let endless = Endless(loop)
        let journal = Journal<String>()
        loop.start()
        let box = LoopBound(Box<LoopTimer>(), on: loop)
        _ = await loop.run {
            let timer = LoopTimer(loop: loop) { journal.append("timer") }
            timer.start(after: .milliseconds(5))
            box.value.content = timer
            endless.goOn()
        }
        try await journal.wait(for: "the timer") { !$0.isEmpty }
        endless.isOver.store(true, ordering: .relaxed)
        _ = await loop.run { box.value.content = nil }
        await loop.stopAndWait()
    }

    @Test("fires timers in the order of their deadlines, once, and not after stop or release")
    func timers() async throws {
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<Int>()
        loop.start()
        let box = LoopBound(Box<[LoopTimer]>(), on: loop)
        _ = await loop.run {
            let timers = [30, 10, 20, 15, 25].map { delay in
                let timer = LoopTimer(loop: loop) { journal.append(delay) }
                timer.start(after: .milliseconds(delay))
                return timer
            }
            // Set again: the later time counts.
            timers[1].start(after: .milliseconds(40))
            timers[3].stop()
            let released = LoopTimer(loop: loop) { journal.append(-1) }
            released.start(after: .milliseconds(1))
            box.value.content = timers
        }
        try await journal.wait(for: 10)
        #expect(journal.entries == [20, 25, 30, 10])
        _ = await loop.run { box.value.content = nil }
        await loop.stopAndWait()
    }

    @Test("never fires a timer early")
    func timerPrecision() async throws {
        let loop = try EventLoop(name: "loop test")
        let journal = Journal<Duration>()
        loop.start()
        let box = LoopBound(Box<LoopTimer>(), on: loop)
        _ = await loop.run {
            let start = ContinuousClock.now
            let timer = LoopTimer(loop: loop) { journal.append(ContinuousClock.now - start) }
            timer.start(after: .microseconds(1500))
            box.value.content = timer
        }
        try await journal.wait(for: "the timer") { $0.count == 1 }
        // libuv counts whole milliseconds of a clock it reads once a turn.
        #expect(journal.entries[0] >= .microseconds(1000))
        _ = await loop.run { box.value.content = nil }
        await loop.stopAndWait()
    }

    @Test("one that never started leaves no descriptor behind, and nobody waits for its end")
    func neverStarted() async throws {
        func descriptors() -> Int { (0..<Int32(4096)).count { fcntl($0, F_GETFD) >= 0 } }
        let before = descriptors()
        for _ in 0..<50 {
            let loop = try EventLoop(name: "loop test")
            loop.execute {}
            await loop.stopAndWait()
            #expect(!loop.execute {})
        }
        for _ in 0..<50 { _ = try EventLoop(name: "loop test") }
        // Others come and go meanwhile; a hundred loops would leave hundreds.
        #expect(descriptors() < before + 100)
    }

    @Test("what is to run after reading runs when all that had come before is read, however long the loop stood still")
    func afterReading() async throws {
        let loop = try EventLoop(name: "loop test")
        loop.start()
        let journal = Journal<String>()
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let (mine, its) = (ends[0], ends[1])
        let box = LoopBound(Box<TCPConnection>(), on: loop)
        _ = await loop.run {
            box.value.content = TCPConnection.adopt(loop: loop, descriptor: its) { event in
                if case .received(let bytes) = event { journal.append(String(decoding: bytes, as: UTF8.self)) }
            }
        }
        for round in 0..<20 {
            _ = await loop.run {
                // It comes while this thread is busy, and a deadline passes.
                _ = Glibc.write(mine, "\(round)", "\(round)".utf8.count)
                loop.afterReading { journal.append("judged \(round)") }
            }
            try await journal.wait(for: "judged \(round)")
            #expect(journal.entries.suffix(2) == ["\(round)", "judged \(round)"])
        }
        _ = await loop.run {
            box.value.content?.close()
            box.value.content = nil
        }
        close(mine)
        await loop.stopAndWait()
    }

    @Test("serves as the executor of an actor")
    func executor() async throws {
        let loop = try EventLoop(name: "loop test")
        loop.start()
        let actor = Resident(loop: loop)
        #expect(await actor.isAtHome)
        await loop.stopAndWait()
    }

    private actor Resident {
        private let loop: EventLoop
        init(loop: EventLoop) { self.loop = loop }
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        var isAtHome: Bool { loop.isCurrent }
    }
}
