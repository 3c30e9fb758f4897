import EventLoop

/// An open loop: each operation begins when it is due, however slow the server is. One timer begins all that are due.
final class OpenPacer: Pacer {
    private var arrivals: Arrivals
    private let beginOperation: BeginOperation
    private var timer: PreciseTimer?
    private var start = ContinuousClock.now
    private var nextDue = ContinuousClock.now

    /// - Throws: `SystemError` when the process is out of descriptors.
    init(loop: EventLoop, arrivals: Arrivals, beginOperation: @escaping BeginOperation) throws {
        self.arrivals = arrivals
        self.beginOperation = beginOperation
        timer = try PreciseTimer(loop: loop) { [weak self] in self?.fire() }
    }

    func begin(start: ContinuousClock.Instant) {
        self.start = start
        nextDue = start + arrivals.next()
        arm()
    }

    func operationOver(well: Bool) {}

    func finish(end: ContinuousClock.Instant) {
        // The thread may be late; what was due still counts.
        beginDue(before: min(end, .now))
        timer = nil
    }

    private func fire() {
        beginDue(before: .now)
        arm()
    }

    private func beginDue(before limit: ContinuousClock.Instant) {
        while nextDue < limit {
            let due = nextDue
            nextDue = start + arrivals.next()
            _ = beginOperation(due, due.duration(to: .now))
        }
    }

    private func arm() { timer?.start(after: ContinuousClock.now.duration(to: nextDue)) }
}

@available(*, unavailable)
extension OpenPacer: Sendable {}
