import Dispatch

/// A value that only one serial queue uses; other threads pass work to it.
final class QueueBound<Value>: @unchecked Sendable {
    // Proof: `value` is read in `run` alone, within a block of the serial queue.
    private let value: Value
    private let queue: DispatchQueue

    /// - Parameter queue: a serial queue. Nothing else uses `value` off it.
    init(_ value: Value, on queue: DispatchQueue) {
        self.value = value
        self.queue = queue
    }

    /// Runs `body` on the queue, after what was passed before.
    func run(_ body: @escaping @Sendable (Value) -> Void) {
        queue.async { body(self.value) }
    }

    /// Runs `body` on the queue after `delay`.
    func run(after delay: Duration, _ body: @escaping @Sendable (Value) -> Void) {
        let (seconds, attoseconds) = delay.components
        // Rounded up: a block that runs early finds nothing due, and is scheduled again.
        let milliseconds = Int(clamping: seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000) + 1
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { body(self.value) }
    }
}
