import CLibWebSockets

/// The server's side of the opening handshake (RFC 6455, 4.2).
enum Upgrade {
    private static let identifier = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    /// The length of a 16-byte key in base64.
    private static let keyLength = 24

    static func isAsked(by head: RequestHead) -> Bool {
        head.value(of: .upgrade) != nil && head.lists("upgrade", in: .connection)
    }

    /// The response that refuses an upgrade; nil for a valid request.
    static func refusal(of head: RequestHead, server: ServerRole) -> HTTPResponse? {
        if let refusal = server.upgradeRefusal { return refusal }
        if let origin = head.value(of: .origin), !server.origins.allows(origin, at: head.value(of: .host)) {
            return AllowedOrigins.refusal(of: origin)
        }
        let offers = head.elements(of: .webSocketProtocol).map { String(decoding: $0, as: UTF8.self) }
        let credentials = Credentials(authorization: head.value(of: .authorization), subprotocols: offers)
        if let refusal = server.events.refusal(of: credentials) { return refusal }
        guard head.lists("websocket", in: .upgrade) else {
            return .text("the only upgrade here is websocket\n", status: 400)
        }
        // RFC 6455, 4.2.1. The bytes after an upgrade's head are frames, so the request has no body.
        guard head.minorVersion == 1 else { return .text("a WebSocket begins with HTTP/1.1\n", status: 400) }
        guard head.value(of: .transferEncoding) == nil, head.value(of: .contentLength) ?? "0" == "0" else {
            return .text("a WebSocket begins with a request without a body\n", status: 400)
        }
        guard head.method == "GET" else {
            var refusal = HTTPResponse.text("a WebSocket begins with GET\n", status: 405)
            refusal.headers = [("Allow", "GET")]
            return refusal
        }
        guard head.path == server.path else {
            return .text(
                server.path.isEmpty ? "no WebSockets are served here\n" : "WebSockets are served at \(server.path)\n",
                status: 404)
        }
        guard head.value(of: .webSocketVersion) == "13" else {
            return HTTPResponse(
                status: 426, contentType: "text/plain", headers: [("Sec-WebSocket-Version", "13")],
                body: Array("use WebSocket version 13\n".utf8))
        }
        guard offers.contains(server.subprotocol) else {
            return .text("ask for the subprotocol \(server.subprotocol) in Sec-WebSocket-Protocol\n", status: 400)
        }
        guard let key = head.value(of: .webSocketKey) else {
            return .text("Sec-WebSocket-Key is missing\n", status: 400)
        }
        return isKey(key) ? nil : .text("Sec-WebSocket-Key is not 16 bytes in base64\n", status: 400)
    }

    /// 22 characters of base64 whose last four bits are zero, and `==`.
    private static func isKey(_ text: String) -> Bool {
        let letters = text.utf8.prefix(keyLength - 2)
        let isBase64 = letters.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        return text.utf8.count == keyLength && isBase64 && text.hasSuffix("==")
            && letters.last.map("AQgw".utf8.contains) == true
    }

    /// The response that completes the handshake. Requires that `refusal` returned nil.
    static func answer(to head: RequestHead, server: ServerRole) -> [UInt8] {
        let accept = acceptance(of: head.value(of: .webSocketKey) ?? "")
        return Array(
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Protocol: \(server.subprotocol)\r\n\r\n").utf8)
    }

    static func acceptance(of key: String) -> String {
        let text = Array((key + identifier).utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        var encoded = [CChar](repeating: 0, count: 32)
        reveille_sha1(text, text.count, &digest)
        digest.withUnsafeBytes { digest in
            // Not empty: the digest has 20 bytes.
            let start = digest.baseAddress!.assumingMemoryBound(to: CChar.self)
            _ = lws_b64_encode_string(start, Int32(digest.count), &encoded, Int32(encoded.count))
        }
        return encoded.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
