import CLibWebSockets
import EventLoop
import Glibc

/// A WebSocket to a server. Used on the loop of its context only.
///
/// Retains itself until its last event, `.closed` or `.failed`.
///
///     connecting ──opened──▶ open ──close()──▶ closing ──▶ ended
///          └──failed──────────│────────────────────────────▲
///                             └──server closes──▶ ceased ──┘
public final class WebSocketClientConnection {
    public enum Event {
        /// The handshake is done, with the subprotocol.
        case opened
        /// A text message, valid during the call only.
        case received(UnsafeRawBufferPointer)
        /// An open connection ended. `code` is from the first close frame, sent or received; nil without one.
        case closed(code: UInt16?, reason: String)
        case failed(WebSocketFailure)
    }

    private enum State {
        case connecting
        case open
        case closing
        case ceased
        case ended
    }

    /// The most seconds a close waits for earlier messages.
    private static let closeSeconds: Int32 = 5
    /// The size at which a batch of frames is written, in bytes.
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
    /// Numeric addresses not yet tried.
    private var addresses: [String] = []
    private var lastFailure = WebSocketFailure.unreachable("no address")
    private var assembly = MessageAssembly()
    private var queue = SendQueue()
    private var isFlushDue = false
    private var closeCode: UInt16?
    private var closeReason = ""

    /// Starts to connect. The result arrives through `onEvent`, never from within this call.
    /// - Parameters:
    /// - unixSocket: the path to connect to; the URL then only provides the request's path.
    ///   - authorization: the value of the header of that name.
    ///   - maxMessageBytes: the longest message; a longer one closes with 3502.
    ///   - onEvent: runs on the loop. It may send, close and connect again.
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

    /// Bytes passed to ``send(_:)`` that neither the kernel nor the library has accepted.
    public var queuedBytes: Int { queue.byteCount }

    /// The time since the kernel received bytes from the server, read or unread, with the resolution of a kernel tick
    /// (1 to 10 ms). nil when unknown.
    package var lastReceivedAge: Duration? {
        guard let wsi else { return nil }
        var (info, length) = (tcp_info(), socklen_t(MemoryLayout<tcp_info>.size))
        // Fails for other kinds of socket (tcp(7)).
        guard getsockopt(lws_get_socket_fd(wsi), Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
        return .milliseconds(Int(info.tcpi_last_data_recv))
    }

    /// Sends a text message at the end of this turn of the loop: all connections of the loop are read before any is
    /// written. Dropped unless the connection is open.
    public func send(_ text: [UInt8]) {
        context.loop.assertIsCurrent()
        guard case .open = state else { return }
        queue.append(text)
        guard !isFlushDue else { return }
        isFlushDue = true
        context.flushAtEndOfTurn(self)
    }

    /// Passes this turn's messages to the library.
    func flush() {
        isFlushDue = false
        guard case .open = state else { return }
        isWritable()
    }

    /// Closes with `code` after queued messages are sent. Cancels an attempt to connect.
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

    /// Resolves the name: the library's resolver blocks the loop (Debian's build has no asynchronous one).
    private func lookUp() {
        guard !context.isDestroyed, case .connecting = state else { return end(.failed(lastFailure)) }
        if let unixSocket {
            // The library's prefix for a path; `@` after it means an abstract socket.
            addresses = [(unixSocket.hasPrefix("@") ? "+./" : "+") + unixSocket]
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
        // The library reports an immediate failure only by its result.
        if wsi == nil, context.unregister(number) != nil { attemptFailed(nil) }
    }

    /// An attempt failed. The next one starts outside of the library's callback.
    func attemptFailed(_ reason: WebSocketFailure?) {
        wsi = nil
        if let reason, case .connecting = state {
            lastFailure = reason
            // A server's response is final: an error of the next address would hide it.
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

    /// Adds this target's headers to the library's request.
    /// - Parameters:
    ///   - place: the library's pointer to its write position.
    ///   - room: the bytes left.
    /// - Returns: false when they do not fit.
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

    /// Passes queued messages to the library, up to the size of one write.
    /// - Returns: false when the connection is broken.
    private func writeWaiting(to wsi: OpaquePointer) -> Bool {
        defer { context.masked.removeAll() }
        while context.masked.bytes.count < Self.writtenTogether, let message = queue.removeFirst() {
            context.masked.append(message)
        }
        return writeWhole(frames: context.masked.bytes, to: wsi)
    }

    /// The documented way is to return -1 from a callback. In the writable callback, Debian's build of lws 4.1.6 (with
    /// `_DEBUG` on libuv) then closes twice and never sends the close frame.
    private func beginClose(of wsi: OpaquePointer) {
        var reason = CloseFrame.reason(closeReason)
        lws_close_reason(wsi, lws_close_status(UInt32(closeCode ?? 1000)), &reason, reason.count)
        lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_SYNC)
    }

    /// The server's close frame: a two-byte code, then the reason.
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
