import CallVocabulary
import Synchronization

@testable import CallServer

/// Clocks that only a test advances.
final class FakeClocks: Sendable {
    private struct State {
        var wall: Int64
        var elapsed: Int64
        var awake: Int64
    }

    private let state: Mutex<State>
    private let boot: String?

    init(wall: Int64 = 1_800_000_000_000, boot: String? = "boot") {
        state = Mutex(State(wall: wall, elapsed: 5_000_000, awake: 4_000_000))
        self.boot = boot
    }

    var sources: ClockSources {
        ClockSources(
            wall: { self.state.withLock { $0.wall } }, elapsed: { self.state.withLock { $0.elapsed } },
            awake: { self.state.withLock { $0.awake } }, boot: boot)
    }

    func pass(_ time: Duration) {
        let milliseconds = time.wholeMilliseconds
        state.withLock { state in
            state.wall += milliseconds
            state.elapsed += milliseconds
            state.awake += milliseconds
        }
    }

    func suspend(for time: Duration) {
        let milliseconds = time.wholeMilliseconds
        state.withLock { state in
            state.wall += milliseconds
            state.elapsed += milliseconds
        }
    }

    func set(by step: Duration) {
        let milliseconds = step.wholeMilliseconds
        state.withLock { $0.wall += milliseconds }
    }
}
