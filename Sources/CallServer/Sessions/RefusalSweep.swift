import CallVocabulary
import EventLoop

/// Logs the counts of suppressed refusals once a minute. Confined to a loop.
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

    /// Logs the remaining counts. The timer must be released on the loop.
    func stop() {
        timer = nil
        refusals.finish(now: clock.now())
    }
}

@available(*, unavailable)
extension RefusalSweep: Sendable {}
