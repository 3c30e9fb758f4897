import CLibWebSockets
import EventLoop
import Glibc

/// A WebSocket to a server. Used on the loop of its context only.
///
/// It keeps itself alive until its last event, `.closed` or `.failed`, after which no other comes.
///
///     connecting ──opened──▶ open ──close()──▶ closing ──▶ ended
///          └──failed──────────│────────────────────────────▲
///                             └──server closes──▶ ceased ──┘
public final class WebSocketClientConnection {
    public enum Event {
        /// The handshake is done and the server has taken the subprotocol.
        case opened
        /// One whole text message, valid during the call only.
        case received(UnsafeRawBufferPointer)
        /// The end of a connection that was open. `code` is the one of whoever closed first, or nil when the
        /// connection went without one.
        case closed(code: UInt16?, reason: String)
        /// It was never open.
        case failed(WebSocketFailure)
    }

    private enum State {
        case connecting
        case open
        case closing
        case ceased
        case ended
    }

    /// How long a close may wait for what was sent before it.
    private static let closeSeconds: Int32 = 5
    /// When frames come to so many bytes, no other is put behind them.
    private static let writtenTogether = 64 * 1024

    private let context: LWSContext
    private let url: WebSocketURL
    private let unixSocket: String?
    private let subprotocol: String
    private let authorization: String?
    private let maxMessageBytes: Int
    private var onEvent: ((Event) -> Void)?
    private var wsi: OpaquePointer?
    private var state = State.connecting
    /// Numeric addresses still to be tried.
    private var addresses: [String] = []
    private var lastFailure = WebSocketFailure.unreachable("no address")
    private var assembly = MessageAssembly()
    private var queue = SendQueue()
    private var isFlushDue = false
    private var closeCode: UInt16?
    private var closeReason = ""

    /// Starts to connect; how it goes is told through `onEvent`, never from within this call.
    /// - Parameters:
    ///   - unixSocket: connects there; the URL then only tells the server what is asked for.
    ///   - authorization: the value of the header of that name.
    ///   - maxMessageBytes: the longest message taken; a longer one closes with 3502.
    ///   - onEvent: runs on the loop. It may send, close, and connect anew.
    public static func connect(
        context: LWSContext, url: WebSocketURL, unixSocket: SocketAddress? = nil, subprotocol: String,
        authorization: String? = nil, maxMessageBytes: Int = 1 << 20, onEvent: @escaping (Event) -> Void
    ) -> WebSocketClientConnection {
        context.loop.assertIsCurrent()
        let connection = WebSocketClientConnection(
            context: context, url: url, unixSocket: unixSocket?.path, subprotocol: subprotocol,
            authorization: authorization, maxMessageBytes: maxMessageBytes, onEvent: onEvent)
        let bound = LoopBound(connection, on: context.loop)
        if !context.loop.execute({ bound.value.lookUp() }) { connection.onEvent = nil }
        return connection
    }

    private init(
        context: LWSContext, url: WebSocketURL, unixSocket: String?, subprotocol: String, authorization: String?,
        maxMessageBytes: Int, onEvent: @escaping (Event) -> Void
    ) {
        self.context = context
        self.url = url
        self.unixSocket = unixSocket
        self.subprotocol = subprotocol
        self.authorization = authorization
        self.maxMessageBytes = maxMessageBytes
        self.onEvent = onEvent
    }

    /// Bytes given to ``send(_:)`` that neither the kernel nor the library has taken yet.
    public var queuedBytes: Int { queue.byteCount }

    /// How long ago the kernel got the last bytes from the server, read by now or not: to one of its ticks, 1 to 10 ms. nil
    /// when it does not know.
    package var lastReceivedAge: Duration? {
        guard let wsi else { return nil }
        var (info, length) = (tcp_info(), socklen_t(MemoryLayout<tcp_info>.size))
        // Fails for a socket of another kind (tcp(7)).
        guard getsockopt(lws_get_socket_fd(wsi), Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
        return .milliseconds(Int(info.tcpi_last_data_recv))
    }

    /// Sends one text message at the end of this turn of the loop, so that of many connections on one loop all that has
    /// come is read before any of them writes. Dropped unless the connection is open.
    public func send(_ text: [UInt8]) {
        context.loop.assertIsCurrent()
        guard case .open = state else { return }
        queue.append(text)
        guard !isFlushDue else { return }
        isFlushDue = true
        context.flushAtEndOfTurn(self)
    }

    /// Gives the library what was sent in this turn.
    func flush() {
        isFlushDue = false
        guard case .open = state else { return }
        isWritable()
    }

    /// Closes with `code` once what waits has gone out; gives up on a connection that is not open yet.
    /// - Parameter reason: for humans; at most 123 bytes of it are sent.
    public func close(code: UInt16, reason: String) {
        context.loop.assertIsCurrent()
        switch state {
        case .connecting:
            lastFailure = .unreachable("closed before it was open")
            addresses = []
            state = .closing
            if let wsi { cut(wsi) }
        case .open:
            flush()
            state = .closing
            closeCode = code
            closeReason = reason
            guard let wsi else { return }
            lws_callback_on_writable(wsi)
            lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_SEND, Self.closeSeconds)
            context.nudge()
        case .closing, .ceased, .ended: break
        }
    }

    private func cut(_ wsi: OpaquePointer) {
        lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC)
        context.nudge()
    }

    // MARK: Connecting

    /// The library would look the name up itself, blocking the loop (Debian's build has no asynchronous resolver).
    private func lookUp() {
        guard !context.isDestroyed, case .connecting = state else { return end(.failed(lastFailure)) }
        if let unixSocket {
            // The library's sign for a path; an `@` in front of it would mean a socket without a file.
            addresses = [(unixSocket.hasPrefix("@") ? "+./" : "+") + unixSocket]
            return tryNext()
        }
        if let address = SocketAddress(host: url.host, port: url.port) {
            addresses = [address.host]
            return tryNext()
        }
        NameLookup.resolve(loop: context.loop, host: url.host, port: url.port) { [self] result in
            switch result {
            case .success(let found): addresses = found.map(\.host)
            case .failure(let error): lastFailure = .unreachable("\(error)")
            }
            tryNext()
        }
    }

    private func tryNext() {
        guard case .connecting = state, !context.isDestroyed, !addresses.isEmpty else {
            return end(.failed(lastFailure))
        }
        let address = addresses.removeFirst()
        lastFailure = .unreachable("could not connect to " + (unixSocket ?? "\(address) port \(url.port)"))
        let number = context.register(self)
        wsi = context.connect(number: number, address: address, url: url, subprotocol: subprotocol)
        // The library reports what fails at once by its result alone.
        if wsi == nil, context.unregister(number) != nil { attemptFailed(nil) }
    }

    /// An attempt is over before the connection was open. The next one starts outside of the library's callback.
    func attemptFailed(_ reason: WebSocketFailure?) {
        wsi = nil
        if let reason, case .connecting = state {
            lastFailure = reason
            // Who answered has decided; that nobody listens at the next address would only hide it.
            if reason.isAnswer { addresses = [] }
        }
        let bound = LoopBound(self, on: context.loop)
        if !context.loop.execute({ bound.value.tryNext() }) { onEvent = nil }
    }

    private func end(_ event: Event) {
        if case .ended = state { return }
        state = .ended
        wsi = nil
        queue.removeAll()
        let report = onEvent
        onEvent = nil
        report?(event)
    }

    // MARK: From the library

    /// Adds what the request says besides what the library writes by itself.
    /// - Parameters:
    ///   - place: where the library keeps how far it has written.
    ///   - room: what is left there, in bytes.
    /// - Returns: false when there is no room.
    func appendHeaders(_ wsi: OpaquePointer, _ place: UnsafeMutableRawPointer?, _ room: Int) -> Bool {
        guard let authorization, let place else { return true }
        // The library's `unsigned char **`.
        let position = place.assumingMemoryBound(to: UnsafeMutablePointer<UInt8>?.self)
        guard let start = position.pointee else { return false }
        let value = Array(authorization.utf8)
        return lws_add_http_header_by_token(
            wsi, WSI_TOKEN_HTTP_AUTHORIZATION, value, Int32(value.count), position, start + room) == 0
    }

    func opened() {
        guard case .connecting = state else { return }
        state = .open
        addresses = []
        onEvent?(.opened)
    }

    func received(_ chunk: MessageChunk) {
        guard case .open = state else { return }
        let report = onEvent
        let fault = assembly.take(chunk, limit: maxMessageBytes) { report?(.received($0)) }
        if let fault { close(code: fault.closeCode, reason: fault.reason) }
    }

    func isWritable() {
        guard let wsi else { return }
        switch state {
        case .open, .closing: break
        case .connecting, .ceased, .ended: return
        }
        while lws_partial_buffered(wsi) == 0, !queue.isEmpty {
            guard writeWaiting(to: wsi) else { return cut(wsi) }
        }
        guard case .closing = state, lws_partial_buffered(wsi) == 0 else { return }
        beginClose(of: wsi)
    }

    /// Gives the library what waits, as much as may leave in one write.
    /// - Returns: false when the connection cannot be written to any more.
    private func writeWaiting(to wsi: OpaquePointer) -> Bool {
        defer { context.masked.removeAll() }
        while context.masked.bytes.count < Self.writtenTogether, let message = queue.removeFirst() {
            context.masked.append(message)
        }
        return writeWhole(frames: context.masked.bytes, to: wsi)
    }

    /// By the book a callback would return -1 for that, but when it does so as the socket becomes writable, Debian's build of
    /// lws 4.1.6 (with `_DEBUG` on libuv) closes twice and never sends the close frame.
    private func beginClose(of wsi: OpaquePointer) {
        var reason = CloseFrame.reason(closeReason)
        lws_close_reason(wsi, lws_close_status(UInt32(closeCode ?? 1000)), &reason, reason.count)
        lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_SYNC)
    }

    /// The server's close frame: two bytes of code, then the reason.
    func peerCloses(_ payload: UnsafeRawBufferPointer) {
        guard case .open = state else { return }
        state = .ceased
        guard payload.count >= 2 else { return }
        closeCode = UInt16(payload[0]) << 8 | UInt16(payload[1])
        closeReason = String(decoding: payload[2...], as: UTF8.self)
    }

    func closed() {
        switch state {
        case .connecting: attemptFailed(.unreachable("the server closed the connection before it was open"))
        case .closing where closeCode == nil: end(.failed(lastFailure))
        case .open, .closing, .ceased: end(.closed(code: closeCode, reason: closeReason))
        case .ended: break
        }
    }
}

@available(*, unavailable)
extension WebSocketClientConnection: Sendable {}
