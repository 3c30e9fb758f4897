import CLibUV

/// One timer of a loop. Created, used and released on the loop's thread.
public final class LoopTimer {
    private let handle: UnsafeMutablePointer<uv_timer_t>
    private let loop: EventLoop
    private let onFire: () -> Void

    /// - Parameter onFire: runs on the loop's thread. It must not keep the timer's owner alive (capture it weakly).
    public init(loop: EventLoop, onFire: @escaping () -> Void) {
        self.loop = loop
        self.onFire = onFire
        loop.assertIsCurrent()
        handle = .allocate(capacity: 1)
        // Cannot fail: it only fills the struct (libuv 1.44).
        uv_timer_init(loop.uvLoop, handle)
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    }

    /// Fires once after `delay`, counted from now; a later call replaces an earlier one.
    public func start(after delay: Duration) {
        loop.assertIsCurrent()
        let components = delay.components
        // Rounded up: a timer that fires early finds nothing due and has to be set again.
        let attosecondsEach: Int64 = 1_000_000_000_000_000
        let milliseconds = components.seconds * 1000 + (components.attoseconds + attosecondsEach - 1) / attosecondsEach
        // libuv counts from its cached time, which is as old as the current loop iteration.
        uv_update_time(loop.uvLoop)
        uv_timer_start(handle, onTimer, UInt64(max(0, milliseconds)), 0)
    }

    public func stop() {
        loop.assertIsCurrent()
        uv_timer_stop(handle)
    }

    deinit {
        loop.assertIsCurrent()
        handle.pointee.data = nil
        loop.close(handle, freeTimer)
    }

    fileprivate func fire() {
        loop.turnBegan()
        onFire()
    }
}

@available(*, unavailable)
extension LoopTimer: Sendable {}

private func onTimer(_ handle: UnsafeMutablePointer<uv_timer_t>?) {
    // nil once the timer is released: `deinit` clears it and stops the timer.
    guard let data = handle?.pointee.data else { return }
    Unmanaged<LoopTimer>.fromOpaque(data).takeUnretainedValue().fire()
}

private func freeTimer(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
    UnsafeMutableRawPointer(handle)?.assumingMemoryBound(to: uv_timer_t.self).deallocate()
}
