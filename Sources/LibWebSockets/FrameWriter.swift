import CLibWebSockets

/// Has the library frame what it is given, from one buffer that all connections of a context share: it needs room in front of
/// the bytes.
struct FrameWriter: ~Copyable {
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: lws_headroom + 4096, alignment: 16)

    deinit { buffer.deallocate() }

    /// Passes `bytes` to the library, which sends what the kernel takes and keeps the rest.
    /// - Returns: false when the connection cannot be written to any more.
    mutating func write(_ bytes: UnsafeRawBufferPointer, as kind: lws_write_protocol, to wsi: OpaquePointer) -> Bool {
        reserve(bytes.count)
        let payload = UnsafeMutableRawBufferPointer(rebasing: buffer[lws_headroom...])
        payload.copyMemory(from: bytes)
        // Never empty: the buffer begins with the headroom and 4,096 bytes.
        let start = payload.baseAddress!.assumingMemoryBound(to: UInt8.self)
        return lws_write(wsi, start, bytes.count, kind) >= Int32(clamping: bytes.count)
    }

    private mutating func reserve(_ count: Int) {
        guard lws_headroom + count > buffer.count else { return }
        buffer.deallocate()
        // A whole power of two, so that a slowly growing message does not allocate each time.
        let size = 1 << (Int.bitWidth - (lws_headroom + count - 1).leadingZeroBitCount)
        buffer = .allocate(byteCount: size, alignment: 16)
    }
}
