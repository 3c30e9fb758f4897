import CLibWebSockets
import Glibc

/// The library's callback for accepted connections, on the loop's thread. Returns 0 to continue, -1 to close.
func onServerEvent(
    _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    guard let wsi else { return 0 }
    switch reason {
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        // Called once for the vhost; `user` is its `SSL_CTX`.
        if let user { prepareTLS(OpaquePointer(user), of: context(of: wsi)) }
    case LWS_CALLBACK_RAW_ADOPT:
        let context = context(of: wsi)
        let socket = ServerSocket(wsi: wsi, context: context, admission: context.admitting)
        // Released below, when the connection is destroyed.
        lws_set_wsi_user(wsi, Unmanaged.passRetained(socket).toOpaque())
        socket.server?.events.socketAdopted(socket)
    case LWS_CALLBACK_RAW_RX:
        guard let socket = socket(user) else { return -1 }
        _ = context(of: wsi)
        // The library's TLS handshake timeout (lws 4.1) keeps running after the handshake.
        if lws_get_ssl(wsi) != nil { lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0) }
        let bytes = UnsafeMutableRawBufferPointer(start: input, count: length)
        return socket.called { socket.received(bytes) } ? 0 : -1
    case LWS_CALLBACK_RAW_WRITEABLE:
        guard let socket = socket(user) else { return -1 }
        _ = context(of: wsi)
        return socket.called { socket.isWritable() } ? 0 : -1
    case LWS_CALLBACK_RAW_CLOSE:
        socket(user)?.gone()
    case LWS_CALLBACK_WSI_DESTROY:
        // The library's own connections, and those whose adoption failed, have no socket.
        guard let user else { return 0 }
        _ = context(of: wsi)
        lws_set_wsi_user(wsi, nil)
        // Proof: retained at RAW_ADOPT; this is the connection's last callback.
        let socket = Unmanaged<ServerSocket>.fromOpaque(user).takeRetainedValue()
        socket.gone()
        socket.server?.events.socketReleased(socket)
    default: break
    }
    return 0
}

/// The socket of a user pointer, retained by the library's connection.
private func socket(_ user: UnsafeMutableRawPointer?) -> ServerSocket? {
    user.map { Unmanaged<ServerSocket>.fromOpaque($0).takeUnretainedValue() }
}

/// Combines the bytes with the library's state of the message.
func chunk(_ wsi: OpaquePointer, _ input: UnsafeMutableRawPointer?, _ length: Int) -> MessageChunk {
    MessageChunk(
        bytes: UnsafeRawBufferPointer(start: input, count: length), isFirst: lws_is_first_fragment(wsi) != 0,
        isFinal: lws_is_final_fragment(wsi) != 0, isBinary: lws_frame_is_binary(wsi) != 0,
        remaining: Int(clamping: lws_remaining_packet_payload(wsi)))
}
