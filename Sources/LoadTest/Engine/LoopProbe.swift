import EventLoop

/// Measures how late timers run on a loop, which delays all its work. On its loop.
final class LoopProbe {
    private static let interval = Duration.milliseconds(10)

    private let onLag: (_ lag: Duration, _ due: ContinuousClock.Instant) -> Void
    private var timer: PreciseTimer?
    private var due: ContinuousClock.Instant

    /// - Throws: `SystemError` when the process is out of descriptors.
    init(
        loop: EventLoop, start: ContinuousClock.Instant,
        onLag: @escaping (_ lag: Duration, _ due: ContinuousClock.Instant) -> Void
    ) throws {
        self.onLag = onLag
        due = start
        timer = try PreciseTimer(loop: loop) { [weak self] in self?.fire() }
        arm()
    }

    private func fire() {
        let now = ContinuousClock.now
        // Timers due while the loop was busy count too.
        while due <= now {
            onLag(due.duration(to: now), due)
            due += Self.interval
        }
        arm()
    }

    private func arm() { timer?.start(after: ContinuousClock.now.duration(to: due)) }
}

@available(*, unavailable)
extension LoopProbe: Sendable {}
