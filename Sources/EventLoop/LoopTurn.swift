import CLibUV

/// Runs once in every turn of a loop, after its callbacks and right before it waits for the next.
/// Created, used and released on the loop's thread.
public final class LoopTurn {
    private let handle: UnsafeMutablePointer<uv_prepare_t>
    private let loop: EventLoop
    private let onEnd: () -> Void

    /// - Parameter onEnd: runs on the loop's thread. It must not keep the owner alive (capture it weakly), and should
    ///   cost next to nothing when there is nothing to do.
    public init(loop: EventLoop, onEnd: @escaping () -> Void) {
        loop.assertIsCurrent()
        self.loop = loop
        self.onEnd = onEnd
        handle = .allocate(capacity: 1)
        // Neither can fail: they fill the struct and link it in (libuv 1.44).
        uv_prepare_init(loop.uvLoop, handle)
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        uv_prepare_start(handle, onPrepare)
    }

    deinit {
        loop.assertIsCurrent()
        handle.pointee.data = nil
        uv_prepare_stop(handle)
        uv_close(UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self), freePrepare)
    }

    fileprivate func end() { onEnd() }
}

@available(*, unavailable)
extension LoopTurn: Sendable {}

private func onPrepare(_ handle: UnsafeMutablePointer<uv_prepare_t>?) {
    // nil once the owner has released it: `deinit` clears it and stops the handle. Retained over the call, because
    // the owner may let go of it from there.
    guard let data = handle?.pointee.data else { return }
    let turn = Unmanaged<LoopTurn>.fromOpaque(data).takeUnretainedValue()
    withExtendedLifetime(turn) { turn.end() }
}

private func freePrepare(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
    UnsafeMutableRawPointer(handle)?.assumingMemoryBound(to: uv_prepare_t.self).deallocate()
}
