import CLibWebSockets

/// Everything on a connection that we made. The library calls this on the loop's thread; 0 lets things go on, -1
/// closes.
func onClientEvent(
    _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    // Numbers begin at 1: without one it is not about a connection of ours.
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
        // A server that names no subprotocol has not understood; the library would take that.
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
