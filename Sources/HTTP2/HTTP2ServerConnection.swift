import CNGHTTP2
import EventLoop
import TLS

/// One HTTP/2 connection of a server. Created and used on the thread of its loop.
///
/// It keeps itself alive until its ``Event/closed(_:)``, which comes exactly once and last. Events are never delivered
/// from within a call of one of the methods, and any method may be called from within an event. What is sent
/// goes to the network together at the end of the loop's turn.
public final class HTTP2ServerConnection {
    public enum Event {
        /// A complete request. It has to be answered, or reset, or the client waits.
        case request(StreamID, HTTP2ServerRequest)
        /// A stream whose request was delivered is over: `.noError` when the answer was sent completely, else the code
        /// of the client's RST_STREAM or of ``reset(_:_:)``. Comes for each request unless `closed` comes before.
        case streamClosed(StreamID, HTTP2ErrorCode)
        /// The connection is over, and with it all its streams; nil after an orderly end.
        case closed(HTTP2Failure?)
    }

    /// A request of which not all has come, or which has been delivered.
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

    // Set right after init, which has to hand `self` to the channel; never nil from then on.
    private var channel: HTTP2Channel!
    private let settings: HTTP2ServerSettings
    private let onEvent: (Event) -> Void
    private var incoming: [StreamID: Incoming] = [:]

    /// Streams opened by the client and not closed.
    public var openStreams: Int { channel.session?.openStreams ?? 0 }

    /// What the client has shown, if the server asks for certificates.
    public var clientCertificate: TLSPeerCertificate? { channel.peerCertificate }

    private init(settings: HTTP2ServerSettings, onEvent: @escaping (Event) -> Void) {
        self.settings = settings
        self.onEvent = onEvent
    }

    /// Takes over an accepted descriptor, as `SocketAcceptor` gives it.
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
                // RFC 9218 §2.1: spares nghttp2 the priority tree.
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

    /// Answers a request completely.
    /// - Returns: false when the stream is closed or has been answered.
    @discardableResult
    public func respond(_ stream: StreamID, status: Int, fields: [HTTPField] = [], body: [UInt8] = []) -> Bool {
        answer(stream, status, fields, body, isStreaming: false)
    }

    /// Sends the header of an answer whose body comes by ``send(_:_:)`` and ends by ``finish(_:)``.
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

    /// Sends the next piece of a streaming answer.
    /// - Returns: false, with nothing taken, when the stream is closed or not streaming, or when more than
    ///   ``HTTP2ServerSettings/maxBufferedResponse`` would wait for the client.
    @discardableResult
    public func send(_ stream: StreamID, _ bytes: [UInt8]) -> Bool {
        guard channel.isOpen, let session = channel.session else { return false }
        channel.planFlush()
        return session.append(bytes, to: stream, limit: settings.maxBufferedResponse)
    }

    /// Ends a streaming answer after what was sent.
    public func finish(_ stream: StreamID) {
        guard channel.isOpen else { return }
        channel.session?.finish(stream)
        channel.planFlush()
    }

    /// Gives a stream up by RST_STREAM. Unknown and closed streams are ignored.
    public func reset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        guard channel.isOpen else { return }
        channel.session?.reset(stream, code)
        channel.planFlush()
    }

    /// Sends GOAWAY. Streams above `lastStream` are dropped, later ones ignored; the connection closes when the others
    /// are answered. May be sent again, with the same stream or a lower one.
    /// - Parameters:
    ///   - lastStream: a stream of the client's, or 0; nil for the last one that was received.
    ///   - debug: at most 16,000 bytes.
    public func goAway(lastStream: StreamID? = nil, _ code: HTTP2ErrorCode = .noError, debug: [UInt8] = []) {
        channel.goAway(lastStream: lastStream, code, debug: debug)
    }

    /// Announces another limit. Streams that the client opens beyond it before it has acknowledged are refused.
    public func updateSettings(maxConcurrentStreams: Int) {
        guard channel.isOpen else { return }
        channel.session?.announce(maxConcurrentStreams: maxConcurrentStreams)
        channel.planFlush()
    }

    /// Leaves what the client sends in the kernel, so that its writes back up. The end of the connection
    /// is not noticed meanwhile.
    public func stopReading() {
        channel.stopReading()
    }

    public func resumeReading() {
        channel.resumeReading()
    }

    /// From now on drops all that comes and sends nothing, not even acknowledgements, as a dead path would.
    /// The client's closing still ends the connection.
    public func blackHole() {
        channel.becomeBlackHole()
    }

    /// Sends what waits as far as the kernel takes it, then GOAWAY, and closes; `.closed(nil)` follows and nothing
    /// before it.
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
            // A stream that was given up before its request was complete never was the owner's.
            if incoming.removeValue(forKey: stream)?.isDelivered == true { onEvent(.streamClosed(stream, code)) }
        case .response, .settings, .goAway, .pingAnswered: break
        }
    }

    private func deliver(_ stream: StreamID) {
        guard let request = incoming[stream], !request.isDelivered else { return }
        // What stays is only the note that a request was delivered.
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
