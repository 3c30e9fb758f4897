/// Runs at the end of every turn of a loop, after its callbacks and right before it waits for the next, and again there
/// after jobs that were left until then: before the loop waits, each has been called after all that the loop did but
/// other ``LoopTurn``s. Those of one loop run in the order in which they were made. Created, used and released on the
/// loop's thread.
public final class LoopTurn {
    /// What the loop has of it.
    final class Callback {
        /// nil once the owner has released it.
        var onEnd: (() -> Void)?

        init(_ onEnd: @escaping () -> Void) { self.onEnd = onEnd }
    }

    private let loop: EventLoop
    private let callback: Callback

    /// - Parameter onEnd: runs on the loop's thread. It must not keep the owner alive (capture it weakly), and should
    ///   cost next to nothing when there is nothing to do.
    public init(loop: EventLoop, onEnd: @escaping () -> Void) {
        self.loop = loop
        callback = Callback(onEnd)
        loop.add(callback)
    }

    deinit {
        callback.onEnd = nil
        loop.remove(callback)
    }
}

@available(*, unavailable)
extension LoopTurn: Sendable {}
