import EventLoop

/// Waits until no push is in flight, at most for the grace, and closes. Confined to the push loop; keeps itself alive
/// until it is done.
final class PushShutdown {
    private let loop: EventLoop
    private let dispatcher: PushDispatcher
    private var timer: LoopTimer?
    private var onDone: (() -> Void)?
    private var isFinishing = false

    init(loop: EventLoop, dispatcher: PushDispatcher) {
        self.loop = loop
        self.dispatcher = dispatcher
    }

    func start(grace: Duration, onDone: @escaping () -> Void) {
        self.onDone = onDone
        timer = LoopTimer(loop: loop) { [weak self] in self?.finish() }
        timer?.start(after: grace)
        // The dispatcher retains this until it is drained; `finish` breaks the cycle.
        dispatcher.stop { self.finish() }
    }

    /// Delayed: an effect of the machine, or the timer released here, may be the caller.
    private func finish() {
        guard !isFinishing else { return }
        isFinishing = true
        let shutdown = LoopBound(self, on: loop)
        loop.execute { shutdown.value.close() }
    }

    private func close() {
        timer = nil
        dispatcher.close()
        onDone?()
        onDone = nil
    }
}

@available(*, unavailable)
extension PushShutdown: Sendable {}
