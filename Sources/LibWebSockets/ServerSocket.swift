import CLibWebSockets
import Glibc

/// One accepted connection: bytes in, bytes out, and what they mean for now, an HTTP request or a WebSocket.
///
///     request ──whole──▶ work ──▶ answer ──flushed──▶ kept ──▶ request, (closed), or discard ──▶ (closed)
///        └── upgrade ──▶ WebSocket ──▶ (closed)
///
/// The library (lws 4.1) has the descriptor and its TLS; what is read and written is parsed and made here. Its connection
/// retains this from its adoption until it is destroyed. Used on the loop's thread only.
package final class ServerSocket {
    /// What the connection waits for, and so how long it may stay as it is.
    package enum Watch {
        /// The whole request or handshake, TLS included.
        case request
        /// The answer to a whole request.
        case work
        /// That the client takes its answer.
        case answer
        /// The next request, which may never come.
        case kept
        /// That the client, which has its answer, ends its half.
        case discard
        /// Of a WebSocket: the next ping.
        case idle
        /// A sign of life after a ping.
        case pinged
        /// The rest of a message or frame that has begun.
        case message
        /// The end of its close.
        case closing
    }

    /// What becomes of the connection once all that is written has gone out.
    enum Ending {
        case none
        /// The next request is read.
        case keep
        case close
        /// Reads on for a while, as a close with bytes unread takes the answer away from the client (a reset).
        case linger
    }

    private static let spentOutput = 64 * 1024

    /// nil once the connection is gone.
    private var wsi: OpaquePointer?
    // Proof for `unowned(unsafe)`: the context outlives its sockets, it closes them all before it goes.
    private unowned(unsafe) let context: LWSContext
    /// The client's address, as a proxy in front of the server tells it where there is one, from the request on.
    package internal(set) var peer: PeerAddress
    /// What the listener let it in as.
    package let admission: Admission
    package var watch = Watch.request
    /// Whether nobody vouches for the connection: it goes first when there is no room.
    package var isStranger = false
    /// Whether it has gone to make room.
    package var isEvicted = false
    var links = InlineArray<2, DeadlineLinks>(repeating: DeadlineLinks())
    /// The TLS of the connection until its handshake is done, kept beyond the library's own end of it.
    private var handshake: OpaquePointer?
    private var exchange: HTTPExchange?
    /// What `socketOpened` returned; nil before and after.
    package private(set) var owner: AnyObject?
    private var reader = FrameReader()
    /// The start of a frame whose rest is to come.
    private var carried: [UInt8] = []
    /// What the kernel has not taken.
    private var outgoing: [UInt8] = []
    private var sent = 0
    private var ending = Ending.none
    /// Input is dropped.
    private var isDeaf = false
    private var isBroken = false
    /// Within a callback of the library for this connection, which ends it by its result.
    private var isCalled = false
    private var mustEnd = false

    init(wsi: OpaquePointer, context: LWSContext, admission: Admission) {
        self.wsi = wsi
        self.context = context
        self.admission = admission
        peer = PeerAddress(descriptor: lws_get_socket_fd(wsi))
        if let tls = lws_get_ssl(wsi) {
            reveille_tls_write_in_parts(tls)
            SSL_up_ref(tls)
            handshake = tls
        }
        exchange = HTTPExchange(socket: self)
    }

    deinit {
        SSL_free(handshake)
    }

    /// Whether the client began a TLS handshake and has not come through it. A connection without a byte, such as a load
    /// balancer's check, is none.
    package var hasFailedTLS: Bool { handshake.map { reveille_tls_is_unfinished($0) != 0 } ?? false }

    var server: ServerRole? {
        guard case .server(let server) = context.role else { return nil }
        return server
    }

    /// Whether bytes wait that the kernel did not take.
    package var isBlocked: Bool { !outgoing.isEmpty }

    /// Whether bytes have come that were not read yet.
    package var hasUnread: Bool {
        wsi.map { LibWebSockets.hasUnread(lws_get_socket_fd($0)) } ?? false
    }

    // MARK: Writing

    /// Sends a text message.
    /// - Returns: false when the connection cannot be written to any more.
    package func write(_ text: UnsafeRawBufferPointer) -> Bool {
        context.frame.removeAll()
        context.frame.append { $0.append(contentsOf: text) }
        return put(context.frame.bytes)
    }

    /// Sends frames as they are.
    /// - Returns: false when the connection cannot be written to any more.
    package func write(_ batch: FrameBatch) -> Bool { put(batch.bytes) }

    /// Sends a ping or a pong, of which neither is a message.
    /// - Parameter payload: at most 125 bytes.
    package func writeControl(_ opcode: UInt8, _ payload: [UInt8] = []) -> Bool {
        put([0x80 | opcode, UInt8(payload.count)] + payload)
    }

    func put(_ bytes: [UInt8]) -> Bool {
        guard let wsi, !isBroken else { return false }
        guard !isBlocked else {
            outgoing += bytes
            return true
        }
        guard let taken = bytes.withUnsafeBytes({ transmit($0, wsi) }) else {
            isBroken = true
            return false
        }
        if taken < bytes.count {
            outgoing = Array(bytes[taken...])
            lws_callback_on_writable(wsi)
        }
        return true
    }

    /// - Returns: how many bytes the kernel took; nil when the connection is broken.
    private func transmit(_ bytes: UnsafeRawBufferPointer, _ wsi: OpaquePointer) -> Int? {
        var position = 0
        while position < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
            let count: Int
            if let tls = lws_get_ssl(wsi) {
                count = Int(reveille_tls_write(tls, rest.baseAddress, Int32(clamping: rest.count)))
            } else {
                let written = send(
                    lws_get_socket_fd(wsi), rest.baseAddress, rest.count,
                    Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
                if written < 0, errno == EINTR { continue }
                count = written >= 0 ? written : errno == EAGAIN ? 0 : -1
            }
            if count == 0 { return position }
            guard count > 0 else { return nil }
            position += count
        }
        return position
    }

    func isWritable() {
        guard let wsi else { return }
        if isBlocked {
            let taken = outgoing.withUnsafeBytes {
                transmit(UnsafeRawBufferPointer(rebasing: $0[sent...]), wsi)
            }
            guard let taken else {
                isBroken = true
                return end()
            }
            sent += taken
            guard sent == outgoing.count else {
                if sent > Self.spentOutput {
                    outgoing.removeFirst(sent)
                    sent = 0
                }
                lws_callback_on_writable(wsi)
                return
            }
            outgoing = []
            sent = 0
        }
        finishIfFlushed()
        if let owner, !mustEnd { server?.events.socketIsWritable(owner: owner) }
    }

    /// Has `socketIsWritable` called once everything written has gone to the kernel.
    package func requestWritable() {
        if let wsi { lws_callback_on_writable(wsi) }
    }

    // MARK: The end

    /// Ends the connection once what is written has gone out. Nothing more is read, or it is read and dropped.
    package func finish(lingering: Bool) { finish(lingering ? .linger : .close) }

    /// Goes on as `ending` says once what is written has gone out.
    func finish(_ ending: Ending) {
        if case .close = self.ending { return }
        self.ending = ending
        if ending != .keep {
            isDeaf = true
            carried = []
        }
        finishIfFlushed()
    }

    private func finishIfFlushed() {
        guard !isBlocked, let wsi else { return }
        switch ending {
        case .none: return
        case .keep:
            ending = .none
            exchange?.flushed()
        case .close: end()
        case .linger:
            ending = .none
            if let tls = lws_get_ssl(wsi) { reveille_tls_end(tls) }
            shutdown(lws_get_socket_fd(wsi), Int32(SHUT_WR))
            server?.events.watch(self, .discard)
        }
    }

    private func end() {
        guard let wsi, !mustEnd else { return }
        if !isBroken, !isBlocked, let tls = lws_get_ssl(wsi) { reveille_tls_end(tls) }
        cut()
    }

    /// Ends the connection as it is. `socketReleased` follows, never from within this call.
    package func cut() {
        guard let wsi, !mustEnd else { return }
        mustEnd = true
        isDeaf = true
        // Within a callback its result does it.
        guard !isCalled else { return }
        lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC)
        context.nudge()
    }

    // MARK: From the library

    /// Runs `body` as a callback of the library.
    /// - Returns: whether the connection may go on.
    func called(_ body: () -> Void) -> Bool {
        isCalled = true
        body()
        isCalled = false
        return !mustEnd
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer) {
        if handshake != nil {
            SSL_free(handshake)
            handshake = nil
        }
        if let exchange {
            exchange.received(UnsafeRawBufferPointer(bytes))
        } else {
            receivedFrames(bytes)
        }
    }

    /// The request was a good one for a WebSocket.
    /// - Parameter rest: what came behind it.
    func upgrade(_ answer: [UInt8], rest: ArraySlice<UInt8>) {
        exchange = nil
        guard put(answer), let events = server?.events else { return cut() }
        owner = events.socketOpened(self)
        var rest = Array(rest)
        rest.withUnsafeMutableBytes { if !$0.isEmpty { receivedFrames($0) } }
    }

    private func receivedFrames(_ bytes: UnsafeMutableRawBufferPointer) {
        guard !isDeaf, let owner, let server else { return }
        var messages = 0
        if carried.isEmpty {
            if let taken = readFrames(bytes, owner, server, &messages), taken < bytes.count {
                carried = Array(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[taken...]))
            }
        } else {
            carried.append(contentsOf: bytes)
            if carried.count >= reader.needed {
                var whole = carried
                carried = []
                let taken = whole.withUnsafeMutableBytes { readFrames($0, owner, server, &messages) }
                if let taken { carried = Array(whole[taken...]) }
            }
        }
        guard !isDeaf, self.owner != nil else { return }
        server.events.socketRead(self, messages: messages, isInMessage: reader.isInMessage || !carried.isEmpty)
    }

    private func readFrames(
        _ bytes: UnsafeMutableRawBufferPointer, _ owner: AnyObject, _ server: ServerRole, _ messages: inout Int
    ) -> Int? {
        reader.read(bytes, limit: server.maxFrameBytes) { frame in
            if case .text = frame { messages += 1 }
            server.events.socketReceived(frame, owner: owner)
            return !isDeaf
        }
    }

    /// The descriptor is about to be closed.
    func gone() {
        wsi = nil
        isDeaf = true
        exchange?.connectionClosed()
        exchange = nil
        (outgoing, carried) = ([], [])
        guard let owner else { return }
        self.owner = nil
        server?.events.socketClosed(owner: owner)
    }
}

@available(*, unavailable)
extension ServerSocket: Sendable {}

/// Whether bytes have come on a connection that were not read yet.
package func hasUnread(_ descriptor: Int32) -> Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
}

/// What a listener notes of a connection as it lets it in.
package struct Admission: Sendable {
    /// Whose share of the connections it counts to; nil for an address without a share.
    package let network: PeerAddress?
    /// Whether it came when all places were taken, and is there for ``ServerRole/reservedPaths`` only.
    package let isReserve: Bool

    package init(network: PeerAddress? = nil, isReserve: Bool = false) {
        self.network = network
        self.isReserve = isReserve
    }
}

/// What happens to the sockets of a server context. All calls come on the loop.
///
/// A socket's `owner` is the object that `socketOpened` made for it; the socket retains it until `socketClosed`.
package protocol ServerSocketEvents: AnyObject {
    /// A descriptor was taken over; it waits for its request.
    func socketAdopted(_ socket: ServerSocket)
    /// Its request is on, and it waits for something else.
    func watch(_ socket: ServerSocket, _ watch: ServerSocket.Watch)
    /// A handshake with the right path and subprotocol is done.
    func socketOpened(_ socket: ServerSocket) -> AnyObject
    func socketReceived(_ frame: FrameReader.Frame, owner: AnyObject)
    /// All that came in one piece has been received.
    /// - Parameters:
    ///   - messages: how many ended in it.
    ///   - isInMessage: whether a message or frame has begun that is not whole.
    func socketRead(_ socket: ServerSocket, messages: Int, isInMessage: Bool)
    /// What was written has gone to the kernel, after `requestWritable` or a write that blocked.
    func socketIsWritable(owner: AnyObject)
    func socketClosed(owner: AnyObject)
    /// The descriptor is gone, after `socketClosed` if it was a WebSocket by then.
    func socketReleased(_ socket: ServerSocket)
    /// The answer to a client that may not become a WebSocket, whatever it asks for; nil for one that may.
    func refusal(authorization: String?) -> HTTPResponse?
    /// A client may not become a WebSocket: it asked for a path or subprotocol that is not served, did not speak WebSocket
    /// well enough, or was refused.
    func handshakeRefused(_ refusal: HandshakeRefusal)
    /// A request whose body is still to come, which is not waited for where it is answered now.
    func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder)
    /// A request with its whole body.
    func requested(_ request: HTTPRequest, _ responder: HTTPResponder)
}
