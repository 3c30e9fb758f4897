import Synchronization

/// Whether somebody wants the run to end before its time. Any thread.
final class StopRequest: Sendable {
    private static let step = Duration.milliseconds(50)
    private let flag = Atomic<Bool>(false)

    var isRequested: Bool { flag.load(ordering: .relaxed) }
    func request() { flag.store(true, ordering: .relaxed) }

    /// Waits until `instant`, or until the run is to end.
    func sleep(until instant: ContinuousClock.Instant) async {
        while !isRequested {
            let rest = ContinuousClock.now.duration(to: instant)
            guard rest > .zero else { return }
            await Self.pause(min(rest, Self.step))
        }
    }

    /// Waits, whatever is requested.
    static func pause(_ time: Duration) async {
        // Fails only in a cancelled task, and a run's is never cancelled: it ends in order.
        try? await Task.sleep(for: time)
    }
}
