import EventLoop

/// Limits the pages that one shard serves, so that a flood of requests for them takes no time from calls: a page of
/// 20 kB costs a shard some 20 µs, hence ``perSecond`` of them a fiftieth of a core. Requests above that wait in order.
/// Confined to the loop.
final class PageGate {
    /// As many pages at once: those of some people who open the softphone together.
    static let burst = 200
    static let perSecond = 1_000
    /// Two seconds' worth. Each waiting request holds a connection.
    static let mostWaiting = 2_000
    /// How long a refused client is to wait.
    static let fullAfter = Duration.seconds(mostWaiting / perSecond)
    /// The interval at which waiting requests are served.
    private static let interval = Duration.milliseconds(10)
    private static let perInterval = perSecond / 100

    private var available = burst
    private var waiting: [() -> Void] = []
    private var timer: LoopTimer?

    init(loop: EventLoop) {
        timer = LoopTimer(loop: loop) { [weak self] in self?.refill() }
    }

    /// Runs `serve` at once or, above the rate, later.
    /// - Returns: false when too many wait; `serve` is not run then.
    func admit(_ serve: @escaping () -> Void) -> Bool {
        guard waiting.count < Self.mostWaiting else { return false }
        if available == Self.burst { timer?.start(after: Self.interval) }
        guard available > 0 else {
            waiting.append(serve)
            return true
        }
        available -= 1
        serve()
        return true
    }

    private func refill() {
        available = min(Self.burst, available + Self.perInterval)
        let served = waiting.prefix(available)
        available -= served.count
        waiting.removeFirst(served.count)
        if available < Self.burst { timer?.start(after: Self.interval) }
        for serve in served { serve() }
    }
}

@available(*, unavailable)
extension PageGate: Sendable {}
