import CallVocabulary

/// The requests of one HTTP connection and their responses, one after the other.
///
///     readingHead ──▶ readingBody ──whole──▶ waiting ──respond──▶ flushing ──▶ readingHead, or closed
///          └── refused ───┴──▶ closed
///
/// A request with an invalid head is refused before its body arrives, and the connection is closed. Pipelined requests
/// are buffered, up to ``mostAhead``.
final class HTTPExchange {
    private enum State {
        case readingHead(RequestHeadBuffer)
        case readingBody(Body)
        /// The body is complete; the resource prepares the response.
        case waiting(Answering)
        /// The kernel has not taken the whole response yet.
        case flushing
        /// The connection closes once all output is written.
        case ended
    }

    /// The part of a request's head that its response depends on.
    private struct Answering {
        let method: HTTPRequest.Method
        /// The page's, where a page sent the request.
        let origin: String?
        /// Whether a browser asks what the page may send.
        let isPreflight: Bool
        let persistence: RequestHead.Persistence
    }

    private struct Body {
        var request: HTTPRequest
        let length: Int
        let answering: Answering
        var bytes: [UInt8] = []
    }

    /// The most bytes buffered of pipelined requests.
    private static let mostAhead = RequestHead.longest
    /// How many bytes are searched for a head at a time: the rest, of pipelined requests, stays where it is.
    static let piece = 1024
    /// After so many pipelined requests other connections have their turn.
    private static let requestsInTurn = 64
    /// The requests of one connection that are refused with a status of ``refusals``; then it is closed. A client that
    /// goes on costs a refusal as much as a service, and has to connect again, which is limited by address.
    private static let mostRefused = 4
    private static let refusals: Set<Int> = [401, 426, 429]

    /// nil once the connection is a WebSocket or gone.
    // Proof for `unowned(unsafe)`: the socket owns the exchange and clears this when it lets go of the exchange.
    private unowned(unsafe) var socket: ServerSocket?
    private var state = State.readingHead(RequestHeadBuffer())
    /// The number of the present request: a second response to an earlier one is ignored.
    private(set) var number = 0
    /// Bytes that no request has taken yet.
    private var unread = UnreadBytes()
    private var isReading = false
    /// The next request is read in the next turn of the loop.
    private var isPaused = false
    /// Requests refused with a status of ``refusals``.
    private var refused = 0
    /// The connection's own peer, which may be a proxy.
    private let peer: PeerAddress

    init(socket: ServerSocket) {
        self.socket = socket
        peer = socket.peer
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .readingHead where !isPaused, .readingBody:
            unread.append(bytes)
            read()
        case .readingHead, .waiting, .flushing: unread.append(bytes, whileAtMost: Self.mostAhead)
        case .ended: break
        }
    }

    /// Reads until a request waits for its response, or all bytes are read.
    private func read() {
        guard !isReading else { return }
        isReading = true
        defer {
            isReading = false
            unread.free()
        }
        let last = number + Self.requestsInTurn
        while unread.count > 0, let socket, socket.server != nil {
            switch state {
            case .readingHead:
                guard number < last else { return pause(socket) }
                readHead(from: socket)
            case .readingBody: readBody()
            case .waiting, .flushing, .ended: return
            }
        }
    }

    private func pause(_ socket: ServerSocket) {
        isPaused = true
        socket.inNextTurn { [weak self] in
            self?.isPaused = false
            self?.read()
        }
    }

    private func readHead(from socket: ServerSocket) {
        guard case .readingHead(var buffer) = state else { return }
        socket.server?.events.watch(socket, .request)
        // The buffer has one owner while it grows, so that appending does not copy it.
        state = .readingHead(RequestHeadBuffer())
        let piece = unread.take(upTo: Self.piece)
        switch piece.withUnsafeBytes({ buffer.append($0) }) {
        case .incomplete: state = .readingHead(buffer)
        case .foreign: refuseHead(.text("not an HTTP/1.1 request\n", status: 400), .notHTTP)
        case .tooLong:
            refuseHead(.text("the head is longer than \(RequestHead.longest) bytes\n", status: 431), .status(431))
        case .whole(let head, let rest):
            unread.giveBack(rest.count)
            readHead(head)
        }
    }

    private func readHead(_ bytes: ArraySlice<UInt8>) {
        guard let socket, let server = socket.server else { return }
        let head: RequestHead
        do throws(RequestHead.Fault) {
            head = try RequestHead(bytes)
        } catch {
            let cause: HandshakeRefusal.Cause =
                if ProxyHeader.begins(bytes) { .strayProxyHeader } else if error.status == 505 { .notHTTP } else {
                    .status(error.status)
                }
            return refuseHead(.text(error.words + "\n", status: error.status), cause)
        }
        socket.peer = peer
        if let proxies = socket.admission.proxies {
            let forwarded = proxies.forwarded(behind: peer, head.value(of: .forwardedFor))
            socket.peer = forwarded.client
            if let entry = forwarded.unreadable { server.events.clientUnreadable(entry, from: peer) }
            // A proxy's own checks have no client, and are no WebSockets.
            if forwarded.isMissing, Upgrade.isAsked(by: head) { server.events.clientUntold(by: peer) }
        } else if peer.isLocal, head.isForwarded {
            server.events.unlistedProxySent()
        }
        if socket.admission.isReserve, !server.reservedPaths.contains(head.path) { return refuse(Self.isFull) }
        guard !Upgrade.isAsked(by: head) else {
            if let refusal = Upgrade.refusal(of: head, server: server) {
                server.events.handshakeRefused(HandshakeRefusal(peer: socket.peer, cause: .status(refusal.status)))
                return refuse(refusal)
            }
            guard socket.peer == peer || server.events.admitsForwarded(socket) else { return refuse(Self.isShareTaken) }
            return socket.upgrade(
                Upgrade.answer(to: head, server: server), rest: unread.take(upTo: unread.count))
        }
        begin(head, from: socket)
        guard case .readingBody = state else { return }
        let mine = number
        readBody()
        // A response may already have led to the next request.
        guard number == mine, case .readingBody(var body) = state else { return }
        body.request.wasExamined = true
        state = .readingBody(body)
        server.events.requestBegan(body.request, HTTPResponder(exchange: self, request: number))
        if case .readingBody = state, head.lists("100-continue", in: .expect) {
            _ = socket.put(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
    }

    /// Refuses what has no valid head. It has a line in the log: a client or a proxy on the way is configured wrongly.
    private func refuseHead(_ refusal: HTTPResponse, _ cause: HandshakeRefusal.Cause) {
        socket?.server?.events.handshakeRefused(HandshakeRefusal(peer: peer, cause: cause))
        if case .status = cause { refuseRequest(refusal) } else { refuse(refusal) }
    }

    /// Refuses a request that may be about a resource.
    private func refuseRequest(_ refusal: HTTPResponse) {
        socket?.server?.events.requestRefused(status: refusal.status)
        refuse(refusal)
    }

    /// Refuses an invalid request, or starts to read the body.
    private func begin(_ head: RequestHead, from socket: ServerSocket) {
        guard let method = HTTPRequest.Method(rawValue: head.method) else {
            var refusal = HTTPResponse.text("unknown method\n", status: 405)
            refusal.headers = [("Allow", "GET, HEAD, POST")]
            return refuseRequest(refusal)
        }
        number += 1
        let request = HTTPRequest(
            method: method, target: head.target, path: head.path,
            authorization: head.value(of: .authorization), contentType: head.value(of: .contentType),
            accept: head.value(of: .accept), acceptEncoding: head.value(of: .acceptEncoding),
            ifNoneMatch: head.value(of: .ifNoneMatch), idempotencyKey: head.value(of: .idempotencyKey),
            host: head.value(of: .host), origin: head.value(of: .origin),
            isForwarded: head.isForwarded, peer: socket.peer,
            network: socket.admission.proxies.map { socket.peer.limited(behind: $0) } ?? socket.network)
        let origin = head.value(of: .origin)
        let answering = Answering(
            method: method, origin: origin,
            isPreflight: method == .options && origin != nil && head.value(of: .requestedMethod) != nil,
            persistence: head.persistence)
        // From here on a refusal knows the method: a response to HEAD has no body.
        state = .readingBody(Body(request: request, length: 0, answering: answering))
        if let origin, let origins = socket.server?.origins {
            guard origins.allows(origin, at: request.host) else {
                return refuseRequest(AllowedOrigins.refusal(of: origin))
            }
        }
        let isChunked = head.value(of: .transferEncoding) != nil
        guard let declared = head.value(of: .contentLength) else {
            // Chunked bodies are not decoded.
            return isChunked ? refuseRequest(.text("send Content-Length\n", status: 411)) : ()
        }
        // Transfer-Encoding with Content-Length may be request smuggling (RFC 9112, 6.1).
        guard !isChunked, let length = Int(digits: declared, atMost: .max) else {
            return refuseRequest(
                .text("Content-Length is not a number, or Transfer-Encoding is present too\n", status: 400))
        }
        guard length <= HTTPRequest.longestBody else {
            return refuseRequest(.text("the body is longer than \(HTTPRequest.longestBody) bytes\n", status: 413))
        }
        state = .readingBody(Body(request: request, length: length, answering: answering))
    }

    private func readBody() {
        guard case .readingBody(var body) = state, let socket, let events = socket.server?.events else { return }
        // The array has one owner while it grows, so that appending does not copy it.
        state = .waiting(body.answering)
        body.bytes.append(contentsOf: unread.take(upTo: body.length - body.bytes.count))
        guard body.bytes.count == body.length else {
            state = .readingBody(body)
            return
        }
        events.watch(socket, .work)
        if body.answering.isPreflight {
            return respond(events.rateRefusal(of: body.request) ?? AllowedOrigins.preflight, to: number)
        }
        var request = body.request
        request.body = body.bytes
        events.requested(request, HTTPResponder(exchange: self, request: number))
    }

    // MARK: Responses

    /// Responds to the request with this number, once.
    func respond(_ response: HTTPResponse, to request: Int) {
        guard request == number else { return }
        switch state {
        case .readingBody(let body): put(response, to: body.answering, .close, then: .linger)
        case .waiting(let answering):
            if Self.refusals.contains(response.status) { refused += 1 }
            // After an overflow no further request can be read. A proxy's requests are those of many clients.
            let mayStay =
                unread.count <= Self.mostAhead && !unread.hasGap && socket?.admission.isReserve == false
                && (refused < Self.mostRefused || socket?.admission.proxies != nil)
            let persistence = mayStay ? answering.persistence : .close
            put(response, to: answering, persistence, then: persistence == .close ? .close : .keep)
        case .readingHead, .flushing, .ended: break
        }
    }

    /// Whether a response to this request would be sent.
    func isWaiting(for request: Int) -> Bool {
        guard socket != nil, request == number else { return false }
        return switch state {
        case .readingBody, .waiting: true
        case .readingHead, .flushing, .ended: false
        }
    }

    /// Refuses the request before it is complete, and closes.
    private func refuse(_ response: HTTPResponse) {
        let response = socket?.server?.refusalForm(response) ?? response
        switch state {
        case .readingHead: put(response, to: nil, .close, then: .linger)
        case .readingBody(let body): put(response, to: body.answering, .close, then: .linger)
        case .waiting, .flushing, .ended: break
        }
    }

    private func put(
        _ response: HTTPResponse, to answering: Answering?, _ persistence: RequestHead.Persistence,
        then ending: ServerSocket.Ending
    ) {
        guard let socket else { return }
        state = ending == .keep ? .flushing : .ended
        socket.server?.events.watch(socket, .answer)
        var response = response
        if let origin = answering?.origin, socket.server?.origins.allows(origin) == true {
            response.headers += AllowedOrigins.headers(for: origin)
        }
        let bytes = response.encoded(withBody: answering?.method != .head, persistence)
        guard socket.put(bytes) else { return socket.cut() }
        socket.finish(ending)
    }

    /// The kernel has taken the response: the next request may come, or is buffered already.
    func flushed() {
        guard case .flushing = state, let socket else { return }
        state = .readingHead(RequestHeadBuffer())
        socket.server?.events.watch(socket, .kept)
        read()
    }

    func connectionClosed() {
        socket = nil
    }

    private static var isShareTaken: HTTPResponse {
        var response = HTTPResponse.text("too many connections from your address; try again later\n", status: 429)
        response.headers = [("Retry-After", "10")]
        return response
    }

    private static var isFull: HTTPResponse {
        var response = HTTPResponse.text("all connections are taken; try again shortly\n", status: 503)
        response.headers = [("Retry-After", "1")]
        return response
    }
}

/// Bytes that have arrived and were not read yet.
struct UnreadBytes {
    private var bytes: [UInt8] = []
    /// How many of them are read.
    private var begun = 0
    /// Whether bytes were dropped. What comes after them is part of no request, and dropped too.
    private(set) var hasGap = false

    var count: Int { bytes.count - begun }

    /// - Parameter most: with more than so many unread all further bytes are dropped.
    mutating func append(_ more: UnsafeRawBufferPointer, whileAtMost most: Int = .max) {
        guard !hasGap, count <= most else {
            hasGap = true
            return
        }
        // What is read leaves when it is the larger part, so that no byte is moved often.
        if begun > count {
            bytes.removeFirst(begun)
            begun = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Takes the first ones.
    mutating func take(upTo most: Int) -> ArraySlice<UInt8> {
        let taken = bytes[begun...].prefix(most)
        begun += taken.count
        return taken
    }

    /// Gives back the last ones that were taken.
    mutating func giveBack(_ count: Int) { begun -= count }

    /// Frees the memory when all bytes are read.
    mutating func free() { if count == 0 { (bytes, begun) = ([], 0) } }
}
