import CNGHTTP2
import EventLoop
import TLS

/// One HTTP/2 connection of a server. Created and used on the thread of its loop.
///
/// It keeps itself alive until ``Event/closed(_:)``, the last event, which occurs exactly once. Events are never
/// delivered within a method call, and any method may be called within an event. Frames are sent together at the end of
/// the loop's turn.
public final class HTTP2ServerConnection {
    public enum Event {
        /// A complete request. The owner must answer or reset it.
        case request(StreamID, HTTP2ServerRequest)
        /// The stream of a delivered request has ended. `.noError`: the answer was sent completely. Otherwise the code
        /// of the client's RST_STREAM or of ``reset(_:_:)``. Occurs for each request unless `closed` occurs first.
        case streamClosed(StreamID, HTTP2ErrorCode)
        /// The connection and all its streams have ended; nil after an orderly end.
        case closed(HTTP2Failure?)
    }

    /// A request that is incomplete or was delivered.
    private struct Incoming {
        let head: FieldBlock
        var body: [UInt8] = []
        var isTruncated = false
        var isDelivered = false

        mutating func keep(_ bytes: UnsafeRawBufferPointer, limit: Int) {
            let kept = min(bytes.count, limit - body.count)
            body.append(contentsOf: bytes[..<kept])
            if kept < bytes.count { isTruncated = true }
        }
    }

    // Set right after init, because the channel needs `self`; never nil from then on.
    private var channel: HTTP2Channel!
    private let settings: HTTP2ServerSettings
    private let onEvent: (Event) -> Void
    private var incoming: [StreamID: Incoming] = [:]

    /// The number of streams that the client opened and that are not closed.
    public var openStreams: Int { channel.session?.openStreams ?? 0 }

    /// The client's certificate, if the server requests one.
    public var clientCertificate: TLSPeerCertificate? { channel.peerCertificate }

    private init(settings: HTTP2ServerSettings, onEvent: @escaping (Event) -> Void) {
        self.settings = settings
        self.onEvent = onEvent
    }

    /// Takes ownership of an accepted descriptor, as from `SocketAcceptor`.
    /// - Parameter tls: nil for cleartext with prior knowledge.
    public static func adopt(
        loop: EventLoop, descriptor: Int32, tls: TLSServerContext?, settings: HTTP2ServerSettings,
        onEvent: @escaping (Event) -> Void
    ) -> HTTP2ServerConnection {
        let connection = HTTP2ServerConnection(settings: settings, onEvent: onEvent)
        let plan = HTTP2Channel.SessionPlan(
            isServer: true,
            settings: [
                nghttp2_settings_entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.maxConcurrentStreams),
                nghttp2_settings_entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.streamWindow),
                nghttp2_settings_entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, FieldBlock.byteLimit),
                // RFC 9218 §2.1: without it, nghttp2 maintains the priority tree.
                nghttp2_settings_entry(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
            ],
            connectionWindow: settings.connectionWindow)
        let channel = HTTP2Channel(
            loop: loop, operation: "accept a connection", plan: plan, handshakeTimeout: settings.handshakeTimeout,
            isConnected: true, roundTrip: settings.roundTrip, tls: { try tls.map { try TLSSession(server: $0) } },
            onEvent: { connection.channelChanged($0) })
        connection.channel = channel
        channel.start(TCPConnection.adopt(loop: loop, descriptor: descriptor) { channel.tcpChanged($0) })
        return connection
    }

    /// Sends a complete answer.
    /// - Returns: false when the stream is closed or has been answered.
    @discardableResult
    public func respond(_ stream: StreamID, status: Int, fields: [HTTPField] = [], body: [UInt8] = []) -> Bool {
        answer(stream, status, fields, body, isStreaming: false)
    }

    /// Sends the header of a streaming answer; ``send(_:_:)`` supplies the body, and ``finish(_:)`` ends it.
    /// - Returns: false when the stream is closed or has been answered.
    @discardableResult
    public func startResponse(_ stream: StreamID, status: Int, fields: [HTTPField] = []) -> Bool {
        answer(stream, status, fields, [], isStreaming: true)
    }

    private func answer(
        _ stream: StreamID, _ status: Int, _ fields: [HTTPField], _ body: [UInt8], isStreaming: Bool
    ) -> Bool {
        guard channel.isOpen, let session = channel.session else { return false }
        channel.planFlush()
        return session.respond(stream, status: status, fields: fields, bytes: body, isStreaming: isStreaming)
    }

    /// Sends the next part of a streaming answer.
    /// - Returns: false when nothing was queued: the stream is closed or not streaming, or more than
    ///   ``HTTP2ServerSettings/maxBufferedResponse`` would wait for the client.
    @discardableResult
    public func send(_ stream: StreamID, _ bytes: [UInt8]) -> Bool {
        guard channel.isOpen, let session = channel.session else { return false }
        channel.planFlush()
        return session.append(bytes, to: stream, limit: settings.maxBufferedResponse)
    }

    /// Ends a streaming answer after its queued parts.
    public func finish(_ stream: StreamID) {
        guard channel.isOpen else { return }
        channel.session?.finish(stream)
        channel.planFlush()
    }

    /// Resets a stream by RST_STREAM. Unknown and closed streams are ignored.
    public func reset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        guard channel.isOpen else { return }
        channel.session?.reset(stream, code)
        channel.planFlush()
    }

    /// Sends GOAWAY. Streams above `lastStream` are dropped and new ones ignored; the connection closes when the others
    /// are answered. May be sent again, with the same stream or a lower one.
    /// - Parameters:
    ///   - lastStream: a client's stream, or 0; nil for the last received stream.
    ///   - debug: at most 16,000 bytes.
    public func goAway(lastStream: StreamID? = nil, _ code: HTTP2ErrorCode = .noError, debug: [UInt8] = []) {
        channel.goAway(lastStream: lastStream, code, debug: debug)
    }

    /// Announces a new limit. Streams beyond it that the client opens before it acknowledges are refused.
    public func updateSettings(maxConcurrentStreams: Int) {
        guard channel.isOpen else { return }
        channel.session?.announce(maxConcurrentStreams: maxConcurrentStreams)
        channel.planFlush()
    }

    /// Stops reading, so that the client's writes back up. The end of the connection is not noticed meanwhile.
    public func stopReading() {
        channel.stopReading()
    }

    public func resumeReading() {
        channel.resumeReading()
    }

    /// Simulates a dead path: drops all received bytes and sends nothing, not even acknowledgements. The connection
    /// still ends when the client closes it.
    public func blackHole() {
        channel.becomeBlackHole()
    }

    /// Sends queued frames as far as the kernel accepts them, then GOAWAY, and closes. `.closed(nil)` is the next
    /// event.
    public func close() {
        channel.close()
    }

    private func channelChanged(_ event: HTTP2Channel.Event) {
        switch event {
        case .opened: break
        case .input(let input): inputArrived(input)
        case .closed(let failure):
            incoming.removeAll()
            onEvent(.closed(failure))
        }
    }

    private func inputArrived(_ input: FrameSession.Input) {
        switch input {
        case .head(let stream, let head): incoming[stream] = Incoming(head: head)
        case .body(let stream, let bytes): incoming[stream]?.keep(bytes, limit: settings.maxBody)
        case .ended(let stream): deliver(stream)
        case .streamClosed(let stream, let code):
            // A stream that ended before its request was complete was never reported to the owner.
            if incoming.removeValue(forKey: stream)?.isDelivered == true { onEvent(.streamClosed(stream, code)) }
        case .response, .settings, .goAway, .pingAnswered: break
        }
    }

    private func deliver(_ stream: StreamID) {
        guard let request = incoming[stream], !request.isDelivered else { return }
        // Keeps only the note that the request was delivered.
        incoming[stream] = Incoming(head: FieldBlock(), isDelivered: true)
        let head = request.head
        onEvent(
            .request(
                stream,
                HTTP2ServerRequest(
                    method: head.method, scheme: head.scheme, authority: head.authority, path: head.path,
                    fields: head.fields, body: request.body, isBodyTruncated: request.isTruncated)))
    }
}

@available(*, unavailable)
extension HTTP2ServerConnection: Sendable {}
