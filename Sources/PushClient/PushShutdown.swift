import EventLoop

/// Waits until nothing is on the wire, or the grace is over, and closes. Lives on the push loop, and keeps itself alive
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
        // The dispatcher holds this until it is drained; `finish` breaks the circle either way.
        dispatcher.stop { self.finish() }
    }

    /// Not at once, because the machine's effects, or the timer that is released here, may have called this.
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
