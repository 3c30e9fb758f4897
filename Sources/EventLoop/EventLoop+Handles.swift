import CLibUV

/// What a C library has on the loop, for those who have to know how far it is.
extension EventLoop {
    /// Whether a handle of the loop, open or closing, carries `data` in its `data` field. For a C library that marks
    /// its handles so.
    public func hasHandle(carrying data: UnsafeRawPointer) -> Bool {
        assertIsCurrent()
        var search = HandleSearch(data: data)
        uv_walk(uvLoop, compareHandleData, &search)
        return search.isFound
    }

    /// The descriptors that C libraries poll on this loop.
    public var polledDescriptors: [Int32] {
        assertIsCurrent()
        var descriptors: [Int32] = []
        withUnsafeMutablePointer(to: &descriptors) { uv_walk(uvLoop, collectPolledDescriptor, $0) }
        return descriptors
    }

    /// Has the close callback of the closing poll handle on `descriptor` not come, so that what belongs to the handle
    /// is never freed or closed. For a C library whose callback would do harm.
    public func dropCloseCallback(ofPollOn descriptor: Int32) {
        assertIsCurrent()
        var descriptor = descriptor
        uv_walk(uvLoop, dropPollCloseCallback, &descriptor)
    }
}

private struct HandleSearch {
    let data: UnsafeRawPointer
    var isFound = false
}

private func compareHandleData(_ handle: UnsafeMutablePointer<uv_handle_t>?, _ search: UnsafeMutableRawPointer?) {
    // Both are set: libuv walks handles that exist, and `hasHandle` passes its own variable.
    let search = search!.assumingMemoryBound(to: HandleSearch.self)
    if UnsafeRawPointer(handle!.pointee.data) == search.pointee.data { search.pointee.isFound = true }
}

private func dropPollCloseCallback(_ handle: UnsafeMutablePointer<uv_handle_t>?, _ wanted: UnsafeMutableRawPointer?) {
    guard let handle, handle.pointee.type == UV_POLL, uv_is_closing(handle) != 0 else { return }
    let poll = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_poll_t.self)
    // `dropCloseCallback` passes its own variable.
    guard poll.pointee.io_watcher.fd == wanted!.load(as: Int32.self) else { return }
    handle.pointee.close_cb = nil
}

private func collectPolledDescriptor(_ handle: UnsafeMutablePointer<uv_handle_t>?, _ list: UnsafeMutableRawPointer?) {
    guard let handle, handle.pointee.type == UV_POLL else { return }
    var descriptor: Int32 = -1
    guard uv_fileno(handle, &descriptor) == 0 else { return }
    // `polledDescriptors` passes its own variable.
    list!.assumingMemoryBound(to: [Int32].self).pointee.append(descriptor)
}
