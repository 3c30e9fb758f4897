import CLibUV

/// The state of a C library's handles on the loop.
extension EventLoop {
    /// Whether an open or closing handle of the loop has `data` in its `data` field.
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

    /// Suppresses the close callback of the closing poll handle on `descriptor`: its resources are never freed. For a C
    /// library whose callback would be unsafe.
    public func dropCloseCallback(ofPollOn descriptor: Int32) {
        assertIsCurrent()
        var descriptor = descriptor
        uv_walk(uvLoop, dropPollCloseCallback, &descriptor)
    }
}

extension EventLoop {
    /// Closes the handle of an owner that is released; `free` frees its memory in a later turn.
    ///
    /// The end of the loop has closed the handles that were open. The memory of such a handle is not freed: libuv may
    /// still use it.
    func close(_ handle: UnsafeMutableRawPointer, _ free: @escaping uv_close_cb) {
        let handle = handle.assumingMemoryBound(to: uv_handle_t.self)
        if uv_is_closing(handle) == 0 { uv_close(handle, free) }
    }
}

private struct HandleSearch {
    fileprivate let data: UnsafeRawPointer
    fileprivate var isFound = false
}

private func compareHandleData(_ handle: UnsafeMutablePointer<uv_handle_t>?, _ search: UnsafeMutableRawPointer?) {
    // Both are set: libuv passes existing handles, and `hasHandle` passes its own variable.
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
