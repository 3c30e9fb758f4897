import EventJournal
import EventLoop
import Testing

@Suite("A precise timer") struct PreciseTimerTests {
    /// Holds what lives on the loop.
    private final class Owner {
        var timer: PreciseTimer?
        var other: LoopTimer?
    }

    private func withLoop(_ body: (EventLoop, LoopBound<Owner>) async throws -> Void) async throws {
        let loop = try EventLoop(name: "precise")
        loop.start()
        let owner = LoopBound(Owner(), on: loop)
        try await body(loop, owner)
        await loop.run {
            owner.value.timer = nil
            owner.value.other = nil
        }
        await loop.stopAndWait()
    }

    @Test("fires once, and not before its time")
    func once() async throws {
        let journal = Journal<(timer: String, at: ContinuousClock.Instant)>()
        try await withLoop { loop, owner in
            let start = ContinuousClock.now
            try await loop.run {
                Result {
                    owner.value.timer = try PreciseTimer(loop: loop) { journal.append(("precise", .now)) }
                    owner.value.timer?.start(after: .microseconds(1500))
                    // Whatever comes a second time comes before this.
                    owner.value.other = LoopTimer(loop: loop) { journal.append(("other", .now)) }
                    owner.value.other?.start(after: .milliseconds(20))
                }
            }?.get()
            try await journal.wait(for: "both") { $0.count >= 2 }
            // A machine that stands still for a while may see both due at once, in either order.
            #expect(journal.entries.map(\.timer).sorted() == ["other", "precise"])
            let fired = try #require(journal.entries.first { $0.timer == "precise" })
            #expect(start.duration(to: fired.at) >= .microseconds(1500))
        }
    }

    @Test("fires at once for what is due, at the later of two times, and not when it is stopped")
    func changes() async throws {
        let journal = Journal<String>()
        try await withLoop { loop, owner in
            try await loop.run {
                Result {
                    owner.value.timer = try PreciseTimer(loop: loop) { journal.append("due") }
                    owner.value.timer?.start(after: .seconds(-5))
                }
            }?.get()
            try await journal.wait(for: "what is due") { $0 == ["due"] }
            await loop.run {
                owner.value.timer?.start(after: .microseconds(10))
                owner.value.timer?.start(after: .seconds(3600))
                owner.value.other = LoopTimer(loop: loop) { journal.append("later") }
                owner.value.other?.start(after: .milliseconds(5))
            }
            try await journal.wait(for: "later") { $0 == ["due", "later"] }
            await loop.run {
                owner.value.timer?.start(after: .microseconds(10))
                owner.value.timer?.stop()
                owner.value.other?.start(after: .milliseconds(5))
            }
            try await journal.wait(for: "later again") { $0 == ["due", "later", "later"] }
        }
    }

    @Test("that is released fires no more")
    func released() async throws {
        let journal = Journal<String>()
        try await withLoop { loop, owner in
            try await loop.run {
                Result {
                    owner.value.timer = try PreciseTimer(loop: loop) { journal.append("released") }
                    owner.value.timer?.start(after: .microseconds(10))
                    owner.value.timer = nil
                    owner.value.other = LoopTimer(loop: loop) { journal.append("later") }
                    owner.value.other?.start(after: .milliseconds(5))
                }
            }?.get()
            try await journal.wait(for: "later") { $0 == ["later"] }
        }
    }
}
