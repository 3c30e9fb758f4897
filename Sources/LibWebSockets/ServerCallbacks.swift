import CLibWebSockets
import Glibc

// The library calls these on the loop's thread. Reasons not listed need no answer: 0 lets things go on, -1 closes.

/// Everything on an accepted connection that is not, or not yet, a WebSocket.
func onHTTPEvent(
    _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    guard let wsi else { return 0 }
    switch reason {
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        // Marks the connections that were adopted; the library has some of its own.
        lws_set_opaque_user_data(wsi, lws_context_user(lws_get_context(wsi)))
        return 0
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        // Comes once, as the vhost is made, with its settings in place of a connection's owner.
        if let user { prepareTLS(OpaquePointer(user), of: context(of: wsi)) }
        return 0
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return confirmUpgrade(wsi, to: text(input))
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        // A WebSocket that asked for this protocol by its name.
        return -1
    case LWS_CALLBACK_HTTP:
        // A second request before the first is answered.
        guard user == nil else { return -1 }
        return beginExchange(wsi)
    case LWS_CALLBACK_HTTP_BODY:
        guard let exchange = exchange(user) else { return -1 }
        return exchange.received(UnsafeRawBufferPointer(start: input, count: length)) ? 0 : -1
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return exchange(user)?.bodyEnded() == true ? 0 : -1
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return exchange(user)?.isWritable() == false ? -1 : 0
    case LWS_CALLBACK_CLOSED_HTTP:
        endExchange(wsi, user)
        return 0
    case LWS_CALLBACK_WSI_DESTROY:
        guard lws_get_opaque_user_data(wsi) != nil else { return 0 }
        // What the library has not told the end of before: a connection cut between two states.
        if let owner = owner(user) {
            if owner is HTTPExchange { endExchange(wsi, user) } else { endSocket(wsi, owner) }
        }
        server(of: wsi)?.events.descriptorReleased()
        return 0
    default: return 0
    }
}

/// Everything on an accepted connection from the upgrade on.
func onWebSocketEvent(
    _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    guard let wsi else { return 0 }
    switch reason {
    case LWS_CALLBACK_ESTABLISHED:
        guard let server = server(of: wsi) else { return -1 }
        let owner = server.events.socketOpened(ServerSocket(wsi: wsi, context: context(of: wsi)))
        // Released in `endSocket`.
        lws_set_wsi_user(wsi, Unmanaged.passRetained(owner).toOpaque())
    case LWS_CALLBACK_RECEIVE:
        guard let owner = owner(user), let server = server(of: wsi) else { return -1 }
        server.events.socketReceived(chunk(wsi, input, length), owner: owner)
    case LWS_CALLBACK_RECEIVE_PONG:
        if let owner = owner(user) { server(of: wsi)?.events.socketAnswered(owner: owner) }
    case LWS_CALLBACK_SERVER_WRITEABLE:
        guard let owner = owner(user), let server = server(of: wsi) else { return -1 }
        server.events.socketIsWritable(owner: owner)
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        if let owner = owner(user), server(of: wsi)?.events.socketCeased(owner: owner) == true { return -1 }
    case LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL:
        guard let owner = owner(user), server(of: wsi)?.events.socketCeased(owner: owner) == true else { return 0 }
        // The peer has broken the protocol instead of answering a close frame, of which the library does not know: it would
        // send another.
        shutdown(lws_get_socket_fd(wsi), Int32(SHUT_WR))
    case LWS_CALLBACK_CLOSED:
        if let owner = owner(user) { endSocket(wsi, owner) }
    default: break
    }
    return 0
}

/// A piece of a message, from the state the library keeps beside the bytes.
func chunk(_ wsi: OpaquePointer, _ input: UnsafeMutableRawPointer?, _ length: Int) -> MessageChunk {
    MessageChunk(
        bytes: UnsafeRawBufferPointer(start: input, count: length), isFirst: lws_is_first_fragment(wsi) != 0,
        isFinal: lws_is_final_fragment(wsi) != 0, isBinary: lws_frame_is_binary(wsi) != 0,
        remaining: Int(clamping: lws_remaining_packet_payload(wsi)))
}

private func server(of wsi: OpaquePointer) -> ServerRole? {
    guard case .server(let server) = context(of: wsi).role else { return nil }
    return server
}

/// The object behind a user pointer: an ``HTTPExchange`` or what `socketOpened` returned, retained by the connection.
private func owner(_ user: UnsafeMutableRawPointer?) -> AnyObject? {
    user.map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
}

/// As ``owner(_:)``, in callbacks that come only on HTTP connections, whose owners are exchanges.
private func exchange(_ user: UnsafeMutableRawPointer?) -> HTTPExchange? {
    user.map { Unmanaged<HTTPExchange>.fromOpaque($0).takeUnretainedValue() }
}

/// Balances the `passRetained` of ESTABLISHED.
private func endSocket(_ wsi: OpaquePointer, _ owner: AnyObject) {
    lws_set_wsi_user(wsi, nil)
    server(of: wsi)?.events.socketClosed(owner: owner)
    Unmanaged.passUnretained(owner).release()
}

/// Balances the `passRetained` of `beginExchange`.
private func endExchange(_ wsi: OpaquePointer, _ user: UnsafeMutableRawPointer?) {
    guard let user else { return }
    lws_set_wsi_user(wsi, nil)
    let exchange = Unmanaged<HTTPExchange>.fromOpaque(user).takeRetainedValue()
    exchange.connectionClosed()
}

private func text(_ input: UnsafeMutableRawPointer?) -> String {
    input.map { String(cString: $0.assumingMemoryBound(to: CChar.self)) } ?? ""
}

/// - Returns: 0 to go on; 1 when the request was answered with a refusal.
private func confirmUpgrade(_ wsi: OpaquePointer, to upgrade: String) -> Int32 {
    guard let server = server(of: wsi) else { return -1 }
    guard let refusal = refusal(of: RequestHead(wsi: wsi), upgrade: upgrade, server: server) else { return 0 }
    server.events.handshakeRefused()
    let isSent = refusal.encoded(withBody: true).withUnsafeBytes {
        context(of: wsi).writer.write($0, as: LWS_WRITE_HTTP_FINAL, to: wsi)
    }
    return isSent ? 1 : -1
}

private func beginExchange(_ wsi: OpaquePointer) -> Int32 {
    let head = RequestHead(wsi: wsi)
    let target = head.methodAndPath
    let request = HTTPRequest(
        method: target?.0 ?? .get, path: target?.1 ?? "", query: head.query,
        authorization: head.value(of: WSI_TOKEN_HTTP_AUTHORIZATION),
        contentType: head.value(of: WSI_TOKEN_HTTP_CONTENT_TYPE))
    let declared = head.value(of: WSI_TOKEN_HTTP_CONTENT_LENGTH)
    let contentLength = declared.map { Int($0) ?? -1 } ?? 0
    let exchange = HTTPExchange(wsi: wsi, context: context(of: wsi), head: request, contentLength: contentLength)
    // Released in `endExchange`.
    lws_set_wsi_user(wsi, Unmanaged.passRetained(exchange).toOpaque())
    if target == nil {
        exchange.respond(.text("unknown method\n", status: 405))
    } else if contentLength < 0 {
        exchange.respond(.text("Content-Length is no number\n", status: 400))
    } else if declared == nil, needsLength(request.method) {
        // The library does not decode chunked bodies.
        exchange.respond(.text("send Content-Length\n", status: 411))
    } else {
        return exchange.begin() ? 0 : -1
    }
    return 0
}

private func needsLength(_ method: HTTPRequest.Method) -> Bool {
    switch method {
    case .post, .put, .patch: true
    case .get, .head, .delete, .options: false
    }
}
