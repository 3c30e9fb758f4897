import CLibWebSockets

/// Passes whole frames to the library, which sends them as they are: what the kernel takes at once, the rest when it can.
///
/// Only while `lws_partial_buffered` says that nothing waits, and never after a close frame.
/// - Returns: false when the connection cannot be written to any more.
func writeWhole(frames: [UInt8], to wsi: OpaquePointer) -> Bool {
    frames.withUnsafeBytes { frames in
        guard let start = frames.baseAddress else { return true }
        // Of this kind lws 4.1 sends the bytes untouched on a WebSocket too, past its own framing and masking, and only reads
        // them (`rops_write_role_protocol_ws`); what the kernel does not take it copies.
        let bytes = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
        return lws_write(wsi, bytes, frames.count, LWS_WRITE_HTTP) >= Int32(clamping: frames.count)
    }
}
