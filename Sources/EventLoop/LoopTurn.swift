/// A callback at the end of every turn of a loop, before the loop waits for events.
///
/// It runs again after jobs at the end of the turn, so it sees all of the turn's work except that of other
/// ``LoopTurn``s. Callbacks of one loop run in order of creation. Created, used and released on the loop's thread.
public final class LoopTurn {
    /// The loop's reference to the callback.
    final class Callback {
        /// nil once the owner has released it.
        var onEnd: (() -> Void)?

        init(_ onEnd: @escaping () -> Void) { self.onEnd = onEnd }
    }

    private let loop: EventLoop
    private let callback: Callback

    /// - Parameter onEnd: runs on the loop's thread. It must not keep the owner alive (capture it weakly), and must be
    ///   cheap when it has nothing to do.
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
