import CLibWebSockets

/// Passes complete frames to the library, which sends them unchanged and buffers the part the kernel does not accept.
///
/// Only while `lws_partial_buffered` returns 0, and never after a close frame.
/// - Returns: false when the connection is broken.
func writeWhole(frames: [UInt8], to wsi: OpaquePointer) -> Bool {
    frames.withUnsafeBytes { frames in
        guard let start = frames.baseAddress else { return true }
        // lws 4.1 sends this kind unchanged on a WebSocket, without framing and masking, and only reads the bytes
        // (`rops_write_role_protocol_ws`). It copies the part the kernel does not accept.
        let bytes = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
        return lws_write(wsi, bytes, frames.count, LWS_WRITE_HTTP) >= Int32(clamping: frames.count)
    }
}
