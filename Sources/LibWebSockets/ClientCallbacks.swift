import CLibWebSockets
import TLS

/// The library's callback for client connections, on the loop's thread. Returns 0 to continue, -1 to close.
func onClientEvent(
    _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    // Called once for the vhost; `user` is its `SSL_CTX`.
    if reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_CLIENT_VERIFY_CERTS {
        if let user { limitTLS(OpaquePointer(user)) }
        return 0
    }
    // Client numbers begin at 1; without one, the event concerns no client.
    guard let wsi, let user else { return 0 }
    let number = UInt(bitPattern: user)
    let context = context(of: wsi)
    let bytes = UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : length)
    switch reason {
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        let text = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        context.unregister(number)?.attemptFailed(WebSocketFailure(libraryWords: text))
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return context.client(number)?.appendHeaders(wsi, input, length) == false ? -1 : 0
    case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
        // A server must select a subprotocol; the library accepts a response without one.
        return lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL) > 0 ? 0 : -1
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        context.client(number)?.opened()
    case LWS_CALLBACK_CLIENT_RECEIVE:
        context.client(number)?.received(chunk(wsi, input, length))
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        context.client(number)?.isWritable()
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        context.client(number)?.peerCloses(bytes)
    case LWS_CALLBACK_CLIENT_CLOSED, LWS_CALLBACK_WSI_DESTROY:
        context.unregister(number)?.closed()
    default: break
    }
    return 0
}
