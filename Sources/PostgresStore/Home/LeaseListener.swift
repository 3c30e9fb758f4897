import Synchronization

/// Whom the lease's thread tells of a renewal.
final class LeaseListener: Sendable {
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)

    func set(_ listener: (@Sendable () -> Void)?) { self.listener.withLock { $0 = listener } }

    func call() { listener.withLock { $0 }?() }
}
