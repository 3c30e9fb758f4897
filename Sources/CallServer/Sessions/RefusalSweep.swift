import CallVocabulary
import EventLoop

/// Has the refusals that were not logged told once a minute. Lives on a loop.
final class RefusalSweep {
    private let refusals: RefusalLog
    private let clock: ServerClock
    private var timer: LoopTimer?

    init(_ refusals: RefusalLog, clock: ServerClock) {
        self.refusals = refusals
        self.clock = clock
    }

    func begin(on loop: EventLoop) {
        timer = LoopTimer(loop: loop) { [weak self] in
            guard let self else { return }
            refusals.sweep(now: clock.now())
            timer?.start(after: RefusalLog.window)
        }
        timer?.start(after: RefusalLog.window)
    }

    /// Tells what is left. The timer has to go on the loop.
    func stop() {
        timer = nil
        refusals.finish(now: clock.now())
    }
}

@available(*, unavailable)
extension RefusalSweep: Sendable {}
