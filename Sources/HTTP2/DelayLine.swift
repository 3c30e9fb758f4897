import EventLoop

/// Delays bytes by a fixed time and keeps their order, to simulate a longer path. Confined to its loop.
final class DelayLine {
    private let delay: Duration
    private let onArrival: ([UInt8]) -> Void
    private var waiting: [(due: ContinuousClock.Instant, bytes: [UInt8])] = []
    private var timer: LoopTimer?

    /// - Parameter onArrival: must not keep the line's owner alive.
    init(loop: EventLoop, delay: Duration, onArrival: @escaping ([UInt8]) -> Void) {
        self.delay = delay
        self.onArrival = onArrival
        timer = LoopTimer(loop: loop) { [weak self] in self?.arrive() }
    }

    func send(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        waiting.append((ContinuousClock.now + delay, bytes))
        if waiting.count == 1 { timer?.start(after: delay) }
    }

    /// Delivers all delayed bytes now.
    func flush() {
        let all = waiting.flatMap(\.bytes)
        waiting = []
        if !all.isEmpty { onArrival(all) }
    }

    private func arrive() {
        let now = ContinuousClock.now
        let due = waiting.prefix { $0.due <= now }.flatMap(\.bytes)
        waiting.removeFirst(waiting.prefix { $0.due <= now }.count)
        if let next = waiting.first { timer?.start(after: next.due - now) }
        if !due.isEmpty { onArrival(due) }
    }
}

@available(*, unavailable)
extension DelayLine: Sendable {}
