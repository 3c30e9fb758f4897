/// The requests of an HTTP connection and their answers, one after the other.
///
///     readingHead ──▶ readingBody ──whole──▶ waiting ──respond──▶ flushing ──▶ readingHead, or closed
///          └── refused ───┴──▶ closed
///
/// A request is refused as soon as its head tells why; its body is not waited for, and the connection is closed. Requests
/// that come while another is at work are kept, up to ``mostAhead``.
final class HTTPExchange {
    private enum State {
        case readingHead(RequestHeadBuffer)
        case readingBody(Body)
        /// The body is whole, and the resource works on its answer.
        case waiting(Answering)
        /// The answer is on its way to the kernel.
        case flushing
        /// The connection is closed once what was written has gone out.
        case ended
    }

    /// What a request's head says of its answer.
    private struct Answering {
        let method: HTTPRequest.Method
        /// What the client wants to become of the connection.
        let persistence: RequestHead.Persistence
    }

    /// A request whose body is being read.
    private struct Body {
        let request: HTTPRequest
        let length: Int
        let persistence: RequestHead.Persistence
        var bytes: [UInt8] = []
    }

    /// The most bytes kept of further requests.
    private static let mostAhead = RequestHead.longest

    /// nil once the connection is gone.
    // Proof for `unowned(unsafe)`: the socket owns the exchange and clears this before it goes.
    private unowned(unsafe) var socket: ServerSocket?
    private var state = State.readingHead(RequestHeadBuffer())
    /// Counts the requests, so that a late second answer to one is none to the next.
    private(set) var number = 0
    /// What came behind the present request.
    private var ahead: [UInt8] = []
    private var isReadingAhead = false
    /// The connection's own peer, which may be a proxy.
    private let peer: PeerAddress

    init(socket: ServerSocket) {
        self.socket = socket
        peer = socket.peer
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .readingHead, .readingBody: read(bytes)
        case .waiting, .flushing:
            if ahead.count <= Self.mostAhead { ahead.append(contentsOf: bytes) }
        case .ended: break
        }
    }

    private func read(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .readingHead(var buffer):
            if let socket { socket.server?.events.watch(socket, .request) }
            // One owner of the buffer while it grows.
            state = .readingHead(RequestHeadBuffer())
            switch buffer.append(bytes) {
            case .incomplete: state = .readingHead(buffer)
            case .foreign: refuse(.text("this is no HTTP/1.1 request\n", status: 400))
            case .tooLong: refuse(.text("the head is longer than \(RequestHead.longest) bytes\n", status: 431))
            case .whole(let head, let rest): readHead(head, rest: rest)
            }
        case .readingBody: readBody(bytes)
        case .waiting, .flushing, .ended: break
        }
    }

    private func readHead(_ bytes: ArraySlice<UInt8>, rest: ArraySlice<UInt8>) {
        guard let socket, let server = socket.server else { return }
        let head: RequestHead
        do throws(RequestHead.Fault) {
            head = try RequestHead(bytes)
        } catch {
            return refuse(.text(error.words + "\n", status: error.status))
        }
        socket.peer = head.client(behind: peer, server.proxies)
        if socket.admission.isReserve, !server.reservedPaths.contains(head.path) { return refuse(Self.isFull) }
        guard !Upgrade.isAsked(by: head) else {
            if let refusal = Upgrade.refusal(of: head, server: server) {
                server.events.handshakeRefused(HandshakeRefusal(peer: socket.peer, cause: .status(refusal.status)))
                return refuse(refusal)
            }
            return socket.upgrade(Upgrade.answer(to: head, server: server), rest: rest)
        }
        begin(head, from: socket.peer)
        guard case .readingBody = state else { return }
        rest.withUnsafeBytes { readBody($0) }
        guard case .readingBody(let body) = state else { return }
        server.events.requestBegan(body.request, HTTPResponder(exchange: self, request: number))
        if case .readingBody = state, head.words(of: .expect).contains("100-continue") {
            _ = socket.put(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
    }

    /// Refuses what no resource could take, or goes on to the body.
    private func begin(_ head: RequestHead, from peer: PeerAddress) {
        guard let method = HTTPRequest.Method(rawValue: head.method) else {
            return refuse(.text("unknown method\n", status: 405))
        }
        number += 1
        let request = HTTPRequest(
            method: method, path: head.path, query: head.query, authorization: head.value(of: .authorization),
            contentType: head.value(of: .contentType), peer: peer)
        // From here on a refusal knows the method: the answer to HEAD has no body.
        state = .readingBody(Body(request: request, length: 0, persistence: head.persistence))
        let isChunked = head.value(of: .transferEncoding) != nil
        guard let declared = head.value(of: .contentLength) else {
            // Chunked bodies are not decoded.
            return isChunked ? refuse(.text("send Content-Length\n", status: 411)) : ()
        }
        // Whoever sends both may mean to have two servers see two requests (RFC 9112, 6.1).
        guard !isChunked, !declared.isEmpty, declared.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            return refuse(.text("Content-Length is no number, or not alone\n", status: 400))
        }
        guard let length = Int(declared), length <= HTTPRequest.longestBody else {
            return refuse(.text("the body is longer than \(HTTPRequest.longestBody) bytes\n", status: 413))
        }
        state = .readingBody(Body(request: request, length: length, persistence: head.persistence))
    }

    private func readBody(_ bytes: UnsafeRawBufferPointer) {
        guard case .readingBody(var body) = state, let socket, let events = socket.server?.events else { return }
        let answering = Answering(method: body.request.method, persistence: body.persistence)
        // One owner of the bytes while they grow.
        state = .waiting(answering)
        let missing = body.length - body.bytes.count
        body.bytes.append(contentsOf: bytes.prefix(missing))
        guard body.bytes.count == body.length else {
            state = .readingBody(body)
            return
        }
        ahead.append(contentsOf: bytes.dropFirst(missing))
        events.watch(socket, .work)
        let head = body.request
        let request = HTTPRequest(
            method: head.method, path: head.path, query: head.query, authorization: head.authorization,
            contentType: head.contentType, peer: head.peer, body: body.bytes)
        events.requested(request, HTTPResponder(exchange: self, request: number))
    }

    // MARK: Answers

    /// Answers the request with this number, once.
    func respond(_ response: HTTPResponse, to request: Int) {
        guard request == number else { return }
        switch state {
        case .readingBody: refuse(response)
        case .waiting(let answering):
            // More than the client may send ahead: its requests are not read on.
            let mayStay = ahead.count <= Self.mostAhead && socket?.admission.isReserve == false
            let persistence = mayStay ? answering.persistence : .close
            guard persistence != .close else { return put(response, to: answering.method, .close, then: .close) }
            put(response, to: answering.method, persistence, then: .keep)
        case .readingHead, .flushing, .ended: break
        }
    }

    /// Answers before the request is whole, and closes.
    private func refuse(_ response: HTTPResponse) {
        switch state {
        case .readingHead: put(response, to: nil, .close, then: .linger)
        case .readingBody(let body): put(response, to: body.request.method, .close, then: .linger)
        case .waiting, .flushing, .ended: break
        }
    }

    private func put(
        _ response: HTTPResponse, to method: HTTPRequest.Method?, _ persistence: RequestHead.Persistence,
        then ending: ServerSocket.Ending
    ) {
        guard let socket else { return }
        state = ending == .keep ? .flushing : .ended
        socket.server?.events.watch(socket, .answer)
        guard socket.put(response.encoded(withBody: method != .head, persistence)) else { return socket.cut() }
        socket.finish(ending)
    }

    /// The answer has gone to the kernel: the next request may come, or has come already.
    func flushed() {
        guard case .flushing = state, let socket else { return }
        state = .readingHead(RequestHeadBuffer())
        socket.server?.events.watch(socket, .kept)
        guard !isReadingAhead else { return }
        isReadingAhead = true
        while case .readingHead = state, !ahead.isEmpty {
            let bytes = ahead
            ahead = []
            bytes.withUnsafeBytes { read($0) }
        }
        isReadingAhead = false
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
