import CLibWebSockets
import EventLoop
import Glibc

/// One accepted connection, which carries an HTTP request or a WebSocket.
///
///     request ──whole──▶ work ──▶ answer ──flushed──▶ kept ──▶ request, (closed), or discard ──▶ (closed)
///        └── upgrade ──▶ WebSocket ──▶ (closed)
///
/// The library (lws 4.1) owns the descriptor and its TLS; this target parses and encodes the bytes. The library's
/// connection retains the socket from adoption until it is destroyed. Used on the loop's thread only.
package final class ServerSocket {
    /// The event the connection waits for, which selects its timeout.
    package enum Watch {
        /// The complete request or handshake, TLS included.
        case request
        /// The response of the resource.
        case work
        /// The client's receipt of the response.
        case answer
        /// The next request on an HTTP connection that is kept.
        case kept
        /// The client's end of stream after its response.
        case discard
        /// The next ping of a WebSocket.
        case idle
        /// Any bytes after a ping.
        case pinged
        /// The rest of a message or frame.
        case message
        /// The end of the close handshake.
        case closing
    }

    /// What happens to the connection once all output is written.
    enum Ending {
        case none
        /// The next request is read.
        case keep
        case close
        /// Reads on for a while: a close with unread bytes resets the connection, and the client may lose the response.
        case linger
    }

    private static let spentOutput = 64 * 1024

    private var wsi: OpaquePointer?
    // Proof for `unowned(unsafe)`: the context closes all its sockets before it is released.
    private unowned(unsafe) let context: LWSContext
    /// The client's address: the admission's until the first request, then as a proxy told it in `X-Forwarded-For`.
    package internal(set) var peer: PeerAddress
    package let admission: Admission
    /// The address that counts this connection, see ``PeerAddress/limited(behind:)``.
    package var network: PeerAddress?
    package var watch = Watch.request
    /// Whether the connection is unvouched: it is evicted first at the limit.
    package var isStranger = false
    package var isEvicted = false
    /// The longest message that this client may send, in bytes; nil for the listener's. Set by the owner.
    package var maxFrameBytes: Int?
    var links = InlineArray<3, DeadlineLinks>(repeating: DeadlineLinks())
    /// The TLS state until the handshake is done. Outlives the library's own reference.
    private var handshake: OpaquePointer?
    /// nil once the connection is a WebSocket or gone. A responder may keep the exchange, which then must not use this
    /// socket.
    private var exchange: HTTPExchange? { didSet { oldValue?.connectionClosed() } }
    /// What `socketOpened` returned; nil before and after.
    package private(set) var owner: AnyObject?
    private var reader = FrameReader()
    /// The bytes of an incomplete frame.
    private var carried: [UInt8] = []
    /// Output that the kernel has not accepted.
    private var outgoing: [UInt8] = []
    private var sent = 0
    /// Bytes of messages that wait behind this output. Set by the owner.
    package var queuedBytes = 0 { didSet { noteUnread() } }
    /// Bytes queued for the client to read, in this socket and in its owner.
    package private(set) var unreadBytes = 0
    private var ending = Ending.none
    /// Input is dropped.
    private var isDeaf = false
    private var isBroken = false
    /// Within a library callback for this connection, whose result ends it.
    private var isCalled = false
    private var mustEnd = false

    init(wsi: OpaquePointer, context: LWSContext, admission: Admission) {
        self.wsi = wsi
        self.context = context
        self.admission = admission
        peer = admission.peer
        network = admission.network
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

    /// Whether the client began a TLS handshake that did not complete. False for a connection without a byte, such as a
    /// load balancer's check.
    package var hasFailedTLS: Bool {
        withExtendedLifetime(self) { handshake.map { reveille_tls_is_unfinished($0) != 0 } ?? false }
    }

    var server: ServerRole? {
        guard case .server(let server) = context.role else { return nil }
        return server
    }

    /// Whether output waits for the kernel.
    package var isBlocked: Bool { !outgoing.isEmpty }

    package var hasUnread: Bool {
        wsi.map { LibWebSockets.hasUnread(lws_get_socket_fd($0)) } ?? false
    }

    // MARK: Writing

    /// Sends a text message.
    /// - Returns: false when the connection is broken.
    package func write(_ text: UnsafeRawBufferPointer) -> Bool {
        context.frame.removeAll()
        context.frame.append { $0.append(contentsOf: text) }
        return put(context.frame.bytes)
    }

    /// Sends frames as they are.
    /// - Returns: false when the connection is broken.
    package func write(_ batch: FrameBatch) -> Bool { put(batch.bytes) }

    /// Sends a control frame: a ping or a pong.
    /// - Parameter payload: at most 125 bytes.
    package func writeControl(_ opcode: UInt8, _ payload: [UInt8] = []) -> Bool {
        put([0x80 | opcode, UInt8(payload.count)] + payload)
    }

    func put(_ bytes: [UInt8]) -> Bool {
        guard let wsi, !isBroken else { return false }
        guard !isBlocked else {
            outgoing += bytes
            noteUnread()
            return true
        }
        guard let taken = bytes.withUnsafeBytes({ transmit($0, wsi) }) else {
            isBroken = true
            return false
        }
        if taken < bytes.count {
            outgoing = Array(bytes[taken...])
            lws_callback_on_writable(wsi)
            noteUnread()
        }
        return true
    }

    /// - Returns: the bytes the kernel accepted; nil when the connection is broken.
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
            noteUnread()
            guard sent == outgoing.count else {
                if sent > Self.spentOutput {
                    outgoing.removeFirst(sent)
                    sent = 0
                }
                lws_callback_on_writable(wsi)
                return
            }
            dropOutput()
        }
        finishIfFlushed()
        if let owner, !mustEnd { server?.events.socketIsWritable(owner: owner) }
    }

    private func dropOutput() {
        outgoing = []
        sent = 0
        noteUnread()
    }

    private func noteUnread() {
        let change = outgoing.count - sent + queuedBytes - unreadBytes
        guard change != 0 else { return }
        unreadBytes += change
        server?.events.socketUnread(self, change: change)
    }

    /// Requests a call of `socketIsWritable` once the kernel has accepted all output.
    package func requestWritable() {
        if let wsi { lws_callback_on_writable(wsi) }
    }

    // MARK: The end

    /// Ends the connection once all output is written. Further input is dropped.
    package func finish(lingering: Bool) { finish(lingering ? .linger : .close) }

    /// Ends or keeps the connection once all output is written.
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
        guard !isBlocked, !mustEnd, let wsi else { return }
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

    /// Closes the connection at once. `socketReleased` follows, never from within this call.
    package func cut() {
        guard let wsi, !mustEnd else { return }
        mustEnd = true
        isDeaf = true
        isBroken = true
        dropOutput()
        // Within a callback, its result closes the connection.
        guard !isCalled else { return }
        lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC)
        context.nudge()
    }

    // MARK: From the library

    /// Runs `body` as part of a library callback.
    /// - Returns: whether the connection continues.
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

    /// Turns the connection into a WebSocket.
    /// - Parameter rest: the bytes after the request's head.
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
        reader.read(bytes, limit: maxFrameBytes ?? server.maxFrameBytes) { frame in
            if case .text = frame { messages += 1 }
            server.events.socketReceived(frame, owner: owner)
            return !isDeaf
        }
    }

    func inNextTurn(_ job: @escaping () -> Void) { context.loop.inNextTurn(job) }

    /// The descriptor is about to be closed.
    func gone() {
        wsi = nil
        isDeaf = true
        exchange = nil
        carried = []
        dropOutput()
        guard let owner else { return }
        self.owner = nil
        server?.events.socketClosed(owner: owner)
    }
}

@available(*, unavailable)
extension ServerSocket: Sendable {}

/// Whether received bytes of a descriptor are unread.
package func hasUnread(_ descriptor: Int32) -> Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
}

/// Whether the received bytes of a descriptor begin with a PROXY protocol header. They stay unread.
package func hasProxyHeader(_ descriptor: Int32) -> Bool {
    // As long as the signature of version 2.
    var bytes = [UInt8](repeating: 0, count: 12)
    let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_PEEK | MSG_DONTWAIT))
    return count > 0 && ProxyHeader.begins(bytes[..<count])
}

/// The listener's decision on an accepted connection.
package struct Admission: Sendable {
    /// The address of the socket, or of a PROXY protocol header.
    package let peer: PeerAddress
    /// The key for limits by address; nil for an address without a limit.
    package let network: PeerAddress?
    /// The trusted proxies, if the peer is one of them.
    package let proxies: TrustedProxies?
    /// The length of the connection's PROXY protocol header, in bytes.
    package let headerBytes: Int
    /// Whether the limit was reached: only ``ServerRole/reservedPaths`` are served.
    package let isReserve: Bool

    package init(
        peer: PeerAddress = PeerAddress(), network: PeerAddress? = nil, proxies: TrustedProxies? = nil,
        headerBytes: Int = 0, isReserve: Bool = false
    ) {
        self.peer = peer
        self.network = network
        self.proxies = proxies
        self.headerBytes = headerBytes
        self.isReserve = isReserve
    }
}

/// Where a client may show the token of a listener.
package struct Credentials {
    /// The value of `Authorization`.
    package var authorization: String?
    /// The subprotocols that a WebSocket client offers. Browsers cannot send `Authorization` with a handshake.
    package var subprotocols: [String] = []

    package init(authorization: String?, subprotocols: [String] = []) {
        self.authorization = authorization
        self.subprotocols = subprotocols
    }
}

/// The events of a server context's sockets, on the loop.
///
/// A socket's `owner` is the result of `socketOpened`; the socket retains it until `socketClosed`.
package protocol ServerSocketEvents: AnyObject {
    /// A descriptor was adopted; the socket waits for its request.
    func socketAdopted(_ socket: ServerSocket)
    /// The socket waits for another event.
    func watch(_ socket: ServerSocket, _ watch: ServerSocket.Watch)
    /// A handshake with a valid path and subprotocol completed.
    func socketOpened(_ socket: ServerSocket) -> AnyObject
    func socketReceived(_ frame: FrameReader.Frame, owner: AnyObject)
    /// All bytes of one read were processed.
    /// - Parameters:
    ///   - messages: messages completed in it.
    ///   - isInMessage: whether a message or frame is incomplete.
    func socketRead(_ socket: ServerSocket, messages: Int, isInMessage: Bool)
    /// The number of bytes queued for the client to read has changed.
    func socketUnread(_ socket: ServerSocket, change: Int)
    /// The kernel accepted all output, after `requestWritable` or a blocked write.
    func socketIsWritable(owner: AnyObject)
    func socketClosed(owner: AnyObject)
    /// The descriptor is closed; for a WebSocket, after `socketClosed`.
    func socketReleased(_ socket: ServerSocket)
    /// A request has come from this machine, through a proxy that is not listed: all clients of that proxy pass for this
    /// machine.
    func unlistedProxySent()
    /// Whether the client that a proxy forwards to this WebSocket may have another connection; counts it then.
    func admitsForwarded(_ socket: ServerSocket) -> Bool
    /// The trusted proxy at `peer` has written an entry of `X-Forwarded-For` that is no address.
    func clientUnreadable(_ entry: String, from peer: PeerAddress)
    /// The trusted proxy at `peer` has passed a WebSocket on without `X-Forwarded-For`.
    func clientUntold(by peer: PeerAddress)
    /// The response that refuses a WebSocket handshake, whatever the path; nil to permit it.
    func refusal(of credentials: Credentials) -> HTTPResponse?
    /// The response that refuses a request which the listener answers itself, beyond a rate; nil to answer it.
    func rateRefusal(of request: HTTPRequest) -> HTTPResponse?
    /// A WebSocket handshake failed: the path or subprotocol is not served, the request is invalid, or it was refused.
    func handshakeRefused(_ refusal: HandshakeRefusal)
    /// A request that asks for no WebSocket, or whose head cannot be read, was refused by its head.
    func requestRefused(status: Int)
    /// A request's head is complete. A response now skips its body.
    func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder)
    /// A complete request.
    func requested(_ request: HTTPRequest, _ responder: HTTPResponder)
}

extension ServerSocketEvents {
    package func unlistedProxySent() {}
    package func clientUntold(by peer: PeerAddress) {}
    package func requestRefused(status: Int) {}
}
