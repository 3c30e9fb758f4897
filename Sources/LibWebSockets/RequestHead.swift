import CLibWebSockets

/// Reads what the library has parsed of an HTTP request. Valid during the callbacks up to the end of the headers.
struct RequestHead {
    let wsi: OpaquePointer

    /// The value of a header, at most 8 kB of it; nil when the request has none.
    func value(of token: lws_token_indexes) -> String? {
        let length = Int(lws_hdr_total_length(wsi, token))
        guard length > 0 else { return nil }
        // The library counts no terminating zero, and joins repeated headers.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 16) { bytes in
            let copied = Int(lws_hdr_copy(wsi, bytes.baseAddress, Int32(bytes.count), token))
            return copied > 0 ? String(decoding: UnsafeRawBufferPointer(bytes).prefix(copied), as: UTF8.self) : nil
        }
    }

    /// Whether the request has the header, with a value.
    func has(_ token: lws_token_indexes) -> Bool { lws_hdr_total_length(wsi, token) > 0 }

    /// What stands behind the `?`. The library takes it apart at each `&`, so it is put together again.
    var query: String {
        var arguments: [String] = []
        var bytes = [CChar](repeating: 0, count: Int(lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_URI_ARGS)) + 16)
        while true {
            let index = Int32(arguments.count)
            let length = lws_hdr_copy_fragment(wsi, &bytes, Int32(bytes.count), WSI_TOKEN_HTTP_URI_ARGS, index)
            guard length > 0 else { return arguments.joined(separator: "&") }
            arguments.append(bytes.withUnsafeBytes { String(decoding: $0.prefix(Int(length)), as: UTF8.self) })
        }
    }

    /// nil for a method that no resource here could know.
    var methodAndPath: (HTTPRequest.Method, String)? {
        var start: UnsafeMutablePointer<CChar>?
        var length: Int32 = 0
        let number = lws_http_get_uri_and_method(wsi, &start, &length)
        guard number >= 0, let start, let method = method(UInt32(number)) else { return nil }
        let path = UnsafeRawBufferPointer(start: start, count: Int(length))
        return (method, String(decoding: path, as: UTF8.self))
    }

    private func method(_ number: UInt32) -> HTTPRequest.Method? {
        switch Int(number) {
        case Int(LWSHUMETH_GET): .get
        case Int(LWSHUMETH_POST): .post
        case Int(LWSHUMETH_OPTIONS): .options
        case Int(LWSHUMETH_PUT): .put
        case Int(LWSHUMETH_PATCH): .patch
        case Int(LWSHUMETH_DELETE): .delete
        case Int(LWSHUMETH_HEAD): .head
        default: nil
        }
    }
}

/// Why a request to become a WebSocket cannot be granted; nil when it can.
func refusal(of head: RequestHead, upgrade: String, server: ServerRole) -> HTTPResponse? {
    if let refusal = server.events.refusal(authorization: head.value(of: WSI_TOKEN_HTTP_AUTHORIZATION)) {
        return refusal
    }
    guard upgrade.lowercased() == "websocket" else {
        return .text("only WebSocket is spoken here beside HTTP/1.1\n", status: 400)
    }
    guard let (method, path) = head.methodAndPath, method == .get else {
        return .text("a WebSocket begins with GET\n", status: 405)
    }
    guard path == server.path else { return .text("WebSockets are served at \(server.path)\n", status: 404) }
    guard head.value(of: WSI_TOKEN_VERSION) == "13" else {
        return HTTPResponse(
            status: 426, contentType: "text/plain", headers: [("Sec-WebSocket-Version", "13")],
            body: Array("WebSocket version 13 is spoken here\n".utf8))
    }
    guard offers(head.value(of: WSI_TOKEN_PROTOCOL) ?? "", server.subprotocol) else {
        return .text("ask for the subprotocol \(server.subprotocol) in Sec-WebSocket-Protocol\n", status: 400)
    }
    guard head.has(WSI_TOKEN_KEY) else { return .text("Sec-WebSocket-Key is missing\n", status: 400) }
    return nil
}

/// - Parameter list: subprotocols, with commas between them.
private func offers(_ list: String, _ subprotocol: String) -> Bool {
    list == subprotocol || list.split(separator: ",").contains { $0.filter { $0 != " " } == subprotocol }
}
