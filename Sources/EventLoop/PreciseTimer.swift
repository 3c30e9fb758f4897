import CLibUV
import Glibc

/// One timer with a resolution below a millisecond. A ``LoopTimer`` costs less and counts whole milliseconds. Created,
/// used and released on the loop's thread.
public final class PreciseTimer {
    private let handle: UnsafeMutablePointer<uv_poll_t>
    private let descriptor: Int32
    private let loop: EventLoop
    private let onFire: () -> Void

    /// - Parameter onFire: runs on the loop's thread. It must not keep the timer's owner alive (capture it weakly).
    /// - Throws: ``SystemError`` when the process is out of descriptors.
    public init(loop: EventLoop, onFire: @escaping () -> Void) throws {
        loop.assertIsCurrent()
        // ContinuousClock uses the same clock, which continues while the machine is suspended.
        descriptor = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_NONBLOCK) | Int32(TFD_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError(operation: "timerfd_create", errno: errno) }
        self.loop = loop
        self.onFire = onFire
        handle = .allocate(capacity: 1)
        let result = uv_poll_init(loop.uvLoop, handle, descriptor)
        // Cannot fail: epoll supports timerfds, and this one is new.
        precondition(result == 0, "uv_poll_init: \(SystemError(operation: "poll", errno: -result))")
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        uv_poll_start(handle, Int32(UV_READABLE.rawValue), onReadable)
    }

    /// Fires once after `delay`, or in the loop's next turn if it is due already. A later call replaces an earlier one.
    public func start(after delay: Duration) {
        loop.assertIsCurrent()
        let (seconds, attoseconds) = delay.components
        // Zero would stop the timer.
        let isDue = delay <= .zero
        var time = itimerspec()
        time.it_value = timespec(
            tv_sec: isDue ? 0 : Int(seconds), tv_nsec: isDue ? 1 : max(1, Int(attoseconds / 1_000_000_000)))
        let result = timerfd_settime(descriptor, 0, &time, nil)
        precondition(result == 0, "timerfd_settime: \(SystemError(operation: "set", errno: errno))")
    }

    public func stop() {
        loop.assertIsCurrent()
        var time = itimerspec()
        timerfd_settime(descriptor, 0, &time, nil)
    }

    deinit {
        loop.assertIsCurrent()
        handle.pointee.data = nil
        // First: it ends the poll on the descriptor.
        loop.close(handle, freePoll)
        Glibc.close(descriptor)
    }

    fileprivate func fire() {
        loop.turnBegan()
        var expirations: UInt64 = 0
        // Nothing to read: the timer was set again meanwhile.
        guard read(descriptor, &expirations, 8) == 8 else { return }
        onFire()
    }
}

@available(*, unavailable)
extension PreciseTimer: Sendable {}

private func onReadable(_ handle: UnsafeMutablePointer<uv_poll_t>?, _: Int32, _: Int32) {
    // nil once the timer is released: `deinit` clears it and stops the poll. Retained for the call, because the owner
    // may release the timer in it.
    guard let data = handle?.pointee.data else { return }
    let timer = Unmanaged<PreciseTimer>.fromOpaque(data).takeUnretainedValue()
    withExtendedLifetime(timer) { timer.fire() }
}

private func freePoll(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
    UnsafeMutableRawPointer(handle)?.assumingMemoryBound(to: uv_poll_t.self).deallocate()
}
