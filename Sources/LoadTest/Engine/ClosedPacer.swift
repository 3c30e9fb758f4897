import EventLoop

/// A closed loop: a fixed number of operations at a time, each followed by the next. During the ramp the number grows.
final class ClosedPacer: Pacer {
    /// The pause after no phone was free, or after a failure: a server that refuses everything is not asked at its full
    /// speed.
    private static let pause = Duration.milliseconds(5)

    private let loop: EventLoop
    private let concurrency: Int
    private let ramp: Duration
    private let beginOperation: BeginOperation
    private let underWay: () -> Int
    private var start = ContinuousClock.now
    private var timer: LoopTimer?
    private var isFilling = false
    private var isOver = false

    /// - Parameter underWay: how many operations are.
    init(
        loop: EventLoop, concurrency: Int, ramp: Duration, underWay: @escaping () -> Int,
        beginOperation: @escaping BeginOperation
    ) {
        self.loop = loop
        self.concurrency = concurrency
        self.ramp = ramp
        self.underWay = underWay
        self.beginOperation = beginOperation
        timer = LoopTimer(loop: loop) { [weak self] in self?.fill() }
    }

    func begin(start: ContinuousClock.Instant) {
        self.start = start
        timer?.start(after: ContinuousClock.now.duration(to: start))
    }

    func operationOver(well: Bool) {
        guard !isFilling, !isOver else { return }
        guard well else {
            timer?.start(after: Self.pause)
            return
        }
        isFilling = true
        // Out of the callbacks of the operation that is over.
        loop.atEndOfTurn { [weak self] in
            self?.isFilling = false
            self?.fill()
        }
    }

    func finish(end: ContinuousClock.Instant) {
        isOver = true
        timer = nil
    }

    private func fill() {
        guard !isOver else { return }
        let now = ContinuousClock.now
        let share = ramp > .zero ? min(1, start.duration(to: now) / ramp) : 1
        let wanted = min(concurrency, max(1, Int(share * Double(concurrency))))
        while underWay() < wanted {
            guard beginOperation(.now, nil) else {
                timer?.start(after: Self.pause)
                return
            }
        }
        if share < 1 { timer?.start(after: Self.pause) }
    }
}

@available(*, unavailable)
extension ClosedPacer: Sendable {}
