/// One HTTP request and its response.
///
///     readingHead ──▶ readingBody ──whole──▶ waiting ──respond──▶ answered
///          └── refused ───┴──────────────────────────────────────────▲
///
/// A connection carries one request: the few HTTP clients do not need keep-alive. A request with an invalid head is
/// refused before its body arrives.
final class HTTPExchange {
    private enum State {
        case readingHead(RequestHeadBuffer)
        case readingBody(Body)
        /// The body is complete; the resource prepares the response.
        case waiting(HTTPRequest.Method)
        case answered
    }

    private struct Body {
        let request: HTTPRequest
        let length: Int
        var bytes: [UInt8] = []
    }

    /// nil once the connection is gone.
    // Proof for `unowned(unsafe)`: the socket owns the exchange and clears this before it is released.
    private unowned(unsafe) var socket: ServerSocket?
    private var state = State.readingHead(RequestHeadBuffer())

    init(socket: ServerSocket) {
        self.socket = socket
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .readingHead(var buffer):
            // The buffer has one owner while it grows, so that appending does not copy it.
            state = .readingHead(RequestHeadBuffer())
            switch buffer.append(bytes) {
            case .incomplete: state = .readingHead(buffer)
            case .foreign: respond(.text("not an HTTP/1.1 request\n", status: 400))
            case .tooLong:
                respond(.text("the head is longer than \(RequestHead.longest) bytes\n", status: 431))
            case .whole(let head, let rest): readHead(head, rest: rest)
            }
        case .readingBody: readBody(bytes)
        // A pipelined request, or the rest of a body.
        case .waiting, .answered: break
        }
    }

    private func readHead(_ bytes: ArraySlice<UInt8>, rest: ArraySlice<UInt8>) {
        guard let socket, let server = socket.server else { return }
        let head: RequestHead
        do throws(RequestHead.Fault) {
            head = try RequestHead(bytes)
        } catch {
            return respond(.text(error.words + "\n", status: error.status))
        }
        socket.peer = head.client(behind: socket.peer, server.proxies)
        if socket.admission.isReserve, !server.reservedPaths.contains(head.path) { return respond(Self.isFull) }
        guard !Upgrade.isAsked(by: head) else {
            if let refusal = Upgrade.refusal(of: head, server: server) {
                server.events.handshakeRefused(HandshakeRefusal(peer: socket.peer, cause: .status(refusal.status)))
                return respond(refusal)
            }
            return socket.upgrade(Upgrade.answer(to: head, server: server), rest: rest)
        }
        begin(head, from: socket.peer)
        guard case .readingBody = state else { return }
        rest.withUnsafeBytes { readBody($0) }
        guard case .readingBody(let body) = state else { return }
        server.events.requestBegan(body.request, HTTPResponder(exchange: self))
        if case .readingBody = state, head.words(of: .expect).contains("100-continue") {
            _ = socket.put(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
    }

    /// Refuses an invalid request, or starts to read the body.
    private func begin(_ head: RequestHead, from peer: PeerAddress) {
        guard let method = HTTPRequest.Method(rawValue: head.method) else {
            return respond(.text("unknown method\n", status: 405))
        }
        let request = HTTPRequest(
            method: method, path: head.path, query: head.query, authorization: head.value(of: .authorization),
            contentType: head.value(of: .contentType), peer: peer)
        // From here on a refusal knows the method: a response to HEAD has no body.
        state = .readingBody(Body(request: request, length: 0))
        let isChunked = head.value(of: .transferEncoding) != nil
        guard let declared = head.value(of: .contentLength) else {
            if isChunked || method.needsLength { return respond(.text("send Content-Length\n", status: 411)) }
            return
        }
        // Transfer-Encoding with Content-Length may be request smuggling (RFC 9112, 6.1).
        guard !isChunked, !declared.isEmpty, declared.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            return respond(.text("Content-Length is not a number, or Transfer-Encoding is present too\n", status: 400))
        }
        guard let length = Int(declared), length <= HTTPRequest.longestBody else {
            return respond(.text("the body is longer than \(HTTPRequest.longestBody) bytes\n", status: 413))
        }
        state = .readingBody(Body(request: request, length: length))
    }

    private func readBody(_ bytes: UnsafeRawBufferPointer) {
        guard case .readingBody(var body) = state, let socket, let events = socket.server?.events else { return }
        // The array has one owner while it grows, so that appending does not copy it.
        state = .waiting(body.request.method)
        body.bytes.append(contentsOf: bytes.prefix(body.length - body.bytes.count))
        guard body.bytes.count == body.length else {
            state = .readingBody(body)
            return
        }
        events.watch(socket, .work)
        let head = body.request
        let request = HTTPRequest(
            method: head.method, path: head.path, query: head.query, authorization: head.authorization,
            contentType: head.contentType, peer: head.peer, body: body.bytes)
        events.requested(request, HTTPResponder(exchange: self))
    }

    func respond(_ response: HTTPResponse) {
        guard let socket else { return }
        let (mayHaveMore, method): (Bool, HTTPRequest.Method?)
        switch state {
        case .answered: return
        case .readingHead: (mayHaveMore, method) = (true, nil)
        case .readingBody(let body): (mayHaveMore, method) = (true, body.request.method)
        case .waiting(let asked): (mayHaveMore, method) = (false, asked)
        }
        state = .answered
        socket.server?.events.watch(socket, .answer)
        guard socket.put(response.encoded(withBody: method != .head)) else { return socket.cut() }
        socket.finish(lingering: mayHaveMore)
    }

    func connectionClosed() {
        socket = nil
    }

    private static var isFull: HTTPResponse {
        var response = HTTPResponse.text("all connections are taken; try again shortly\n", status: 503)
        response.headers = [("Retry-After", "1")]
        return response
    }
}

extension HTTPRequest.Method {
    fileprivate var needsLength: Bool {
        switch self {
        case .post, .put, .patch: true
        case .get, .head, .delete, .options: false
        }
    }
}
