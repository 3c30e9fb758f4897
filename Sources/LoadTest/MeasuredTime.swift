import EventLoop

/// The times of a closed-loop run: warm-up, the part that counts, and the wait for what is still under way.
///
/// ```
/// start ─▶ warmingUp ─▶ measuring ─▶ draining ─▶ over
///                                        └── hasDrained(), or the limit
/// ```
/// Confined to the loop.
final class MeasuredTime {
    enum Phase { case idle, warmingUp, measuring, draining, over }

    /// What is under way at the end has so long to come to its own end.
    private static let drainLimit = Duration.seconds(10)
    private static let longestWarmUp = Duration.seconds(1)
    private static let progressInterval = Duration.milliseconds(500)

    private(set) var phase = Phase.idle
    private let loop: EventLoop
    private let server: Int32
    private let duration: Duration
    private let progress: () -> Void
    private let onEnd: () -> Void
    private let onOver: (Result<UsageSpan, any Error>) -> Void
    private var timer: LoopTimer?
    private var phaseEnd = ContinuousClock.now
    private var start: UsageSnapshot?
    private var span: UsageSpan?

    /// - Parameters:
    ///   - server: the server's process id.
    ///   - duration: of the part that counts.
    ///   - onEnd: nothing new may be begun; calls ``hasDrained()`` now or when nothing is under way.
    ///   - onOver: called once, with what was used while measuring.
    init(
        loop: EventLoop, server: Int32, duration: Duration, progress: @escaping () -> Void,
        onEnd: @escaping () -> Void, onOver: @escaping (Result<UsageSpan, any Error>) -> Void
    ) {
        self.loop = loop
        self.server = server
        self.duration = duration
        self.progress = progress
        self.onEnd = onEnd
        self.onOver = onOver
    }

    /// Whether new work is to be begun.
    var isLoading: Bool { phase == .warmingUp || phase == .measuring }
    var isMeasuring: Bool { phase == .measuring }

    /// A fifth of the measured time, 1 s at most.
    static func warmUp(for duration: Duration) -> Duration { min(longestWarmUp, duration / 5) }

    func begin() {
        timer = LoopTimer(loop: loop) { [weak self] in self?.timerFired() }
        enter(.warmingUp, for: Self.warmUp(for: duration))
    }

    /// Nothing is under way any more.
    func hasDrained() {
        guard phase == .draining, let span else { return }
        finish(.success(span))
    }

    private func enter(_ phase: Phase, for time: Duration) {
        self.phase = phase
        phaseEnd = .now + time
        timer?.start(after: min(time, Self.progressInterval))
    }

    private func timerFired() {
        progress()
        let rest = ContinuousClock.now.duration(to: phaseEnd)
        if rest > .zero {
            timer?.start(after: min(rest, Self.progressInterval))
            return
        }
        do {
            switch phase {
            case .idle, .over: break
            case .warmingUp:
                start = try .take(server: server)
                enter(.measuring, for: duration)
            case .measuring:
                span = start?.span(until: try .take(server: server))
                enter(.draining, for: Self.drainLimit)
                onEnd()
            case .draining:
                if let span { finish(.success(span)) }
            }
        } catch {
            finish(.failure(error))
        }
    }

    private func finish(_ result: Result<UsageSpan, any Error>) {
        phase = .over
        // Timers end on their loop.
        timer = nil
        onOver(result)
    }
}

@available(*, unavailable)
extension MeasuredTime: Sendable {}
