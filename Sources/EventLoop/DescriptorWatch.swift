import CLibUV

/// Tells when a descriptor has bytes to read, or has ended. It does not own the descriptor: release the watch before the
/// descriptor is closed, or watched otherwise. Created, used and released on the loop's thread.
public final class DescriptorWatch {
    private let handle: UnsafeMutablePointer<uv_poll_t>
    private let loop: EventLoop
    private let onReadable: () -> Void

    /// - Parameter onReadable: called again as long as bytes are unread. It must not keep the watch's owner alive.
    /// - Throws: ``SystemError`` when the descriptor cannot be watched.
    public init(loop: EventLoop, descriptor: Int32, onReadable: @escaping () -> Void) throws {
        loop.assertIsCurrent()
        self.loop = loop
        self.onReadable = onReadable
        handle = .allocate(capacity: 1)
        let result = uv_poll_init(loop.uvLoop, handle, descriptor)
        guard result == 0 else {
            handle.deallocate()
            throw SystemError(operation: "watch a descriptor", errno: -result)
        }
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        uv_poll_start(handle, Int32(UV_READABLE.rawValue), onWatched)
    }

    deinit {
        loop.assertIsCurrent()
        handle.pointee.data = nil
        loop.close(handle, freePoll)
    }

    fileprivate func readable() {
        loop.turnBegan()
        onReadable()
    }
}

@available(*, unavailable)
extension DescriptorWatch: Sendable {}

private func onWatched(_ handle: UnsafeMutablePointer<uv_poll_t>?, _: Int32, _: Int32) {
    // nil once the watch is released. Retained for the call, because the owner may release the watch in it.
    guard let data = handle?.pointee.data else { return }
    let watch = Unmanaged<DescriptorWatch>.fromOpaque(data).takeUnretainedValue()
    withExtendedLifetime(watch) { watch.readable() }
}

private func freePoll(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
    UnsafeMutableRawPointer(handle)?.assumingMemoryBound(to: uv_poll_t.self).deallocate()
}
