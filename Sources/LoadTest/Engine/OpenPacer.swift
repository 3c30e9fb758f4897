import EventLoop

/// An open loop: each piece begins when it is due, whatever became of those before. One timer begins everything due.
final class OpenPacer: Pacer {
    private var arrivals: Arrivals
    private let beginPiece: BeginPiece
    private var timer: PreciseTimer?
    private var start = ContinuousClock.now
    private var nextDue = ContinuousClock.now

    /// - Throws: `SystemError` when the process is out of descriptors.
    init(loop: EventLoop, arrivals: Arrivals, beginPiece: @escaping BeginPiece) throws {
        self.arrivals = arrivals
        self.beginPiece = beginPiece
        timer = try PreciseTimer(loop: loop) { [weak self] in self?.fire() }
    }

    func begin(start: ContinuousClock.Instant) {
        self.start = start
        nextDue = start + arrivals.next()
        arm()
    }

    func pieceOver(well: Bool) {}

    func finish(end: ContinuousClock.Instant) {
        // The thread may be behind: what it owes counts, late as it is.
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
            _ = beginPiece(due, due.duration(to: .now))
        }
    }

    private func arm() { timer?.start(after: ContinuousClock.now.duration(to: nextDue)) }
}

@available(*, unavailable)
extension OpenPacer: Sendable {}
