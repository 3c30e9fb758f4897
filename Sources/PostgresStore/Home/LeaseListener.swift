import Synchronization

/// Called after each attempt to renew the lease, on any thread.
final class LeaseListener: Sendable {
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)

    func set(_ listener: (@Sendable () -> Void)?) { self.listener.withLock { $0 = listener } }

    func call() { listener.withLock { $0 }?() }
}
