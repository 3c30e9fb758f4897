import CNGHTTP2
import EventLoop
import TLS

/// One HTTP/2 connection of a client. Created and used on the thread of its loop.
///
/// It keeps itself alive until ``Event/closed(_:)``, the last event, which occurs exactly once. Events are never
/// delivered within a method call, and any method may be called within an event. Submitted requests are sent together
/// at the end of the loop's turn.
public final class HTTP2ClientConnection {
    public enum Event {
        /// Connected, and TLS has agreed on `h2`. One request may be submitted before the peer's settings.
        case opened
        /// The peer's settings, at first and at each change, with its limit on streams.
        case settings(maxConcurrentStreams: Int)
        /// The final response's header (1xx and trailers are not reported).
        case headers(StreamID, status: Int, [HTTPField])
        /// A part of the response's body, valid during the callback only.
        case data(StreamID, UnsafeRawBufferPointer)
        /// The stream has ended. `.noError`: the response is complete. `.refusedStream`: the peer has not processed the
        /// request (RST_STREAM, or above GOAWAY's last stream). Otherwise the code from the peer or from
        /// ``reset(_:_:)``.
        case streamClosed(StreamID, HTTP2ErrorCode)
        /// The peer accepts no more requests. `streamClosed(_, .refusedStream)` follows at once for the streams above
        /// `lastStream`; the others may still be answered. May occur more than once.
        case goAway(lastStream: StreamID, HTTP2ErrorCode, debug: [UInt8])
        /// The answer to ``ping()``.
        case pingAnswered
        /// The connection has ended; nil after an orderly end. Streams without a `streamClosed` get none: whether the
        /// peer processed them is unknown.
        case closed(HTTP2Failure?)
    }

    /// Flow-control windows for all streams and for one. Answers are short; the windows are large so that a burst never
    /// waits for a window update.
    private static let connectionWindow = 1024 * 1024
    private static let streamWindow = 256 * 1024
    /// The most streams before the peer announces its limit. APNs starts with 1.
    private static let presumedStreamLimit = 1

    // Set right after init, because the channel needs `self`; never nil from then on.
    private var channel: HTTP2Channel!
    private let onEvent: (Event) -> Void
    private var isRetired = false

    /// The number of submitted streams that are not closed.
    public var openStreams: Int { channel.session?.openStreams ?? 0 }
    /// The peer's present limit. 1 until its settings arrive, because APNs starts with 1.
    public var maxConcurrentStreams: Int {
        guard let session = channel.session, session.hasPeerSettings else { return Self.presumedStreamLimit }
        return session.peerMaxConcurrentStreams
    }

    private init(onEvent: @escaping (Event) -> Void) {
        self.onEvent = onEvent
    }

    /// Starts to connect.
    /// - Parameters:
    ///   - serverName: the name that the certificate must contain: a host name (also sent as SNI) or an IP address.
    ///   - tls: nil for cleartext with prior knowledge (RFC 9113 §3.3), for tests.
    ///   - wantedFields: the names of the response fields to report, in lower case; nil for all. Each omitted field
    ///     saves two strings.
    ///   - handshakeTimeout: the time until ``Event/opened``; then the connection fails with
    ///     ``HTTP2Failure/Reason/timedOut``.
    ///   - onEvent: called on the loop's thread.
    public static func connect(
        loop: EventLoop, to address: SocketAddress, serverName: String, tls: TLSClientContext?,
        wantedFields: [String]? = nil, handshakeTimeout: Duration = .seconds(10), onEvent: @escaping (Event) -> Void
    ) -> HTTP2ClientConnection {
        let connection = HTTP2ClientConnection(onEvent: onEvent)
        let plan = HTTP2Channel.SessionPlan(
            isServer: false,
            settings: [
                nghttp2_settings_entry(NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
                nghttp2_settings_entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, streamWindow),
                nghttp2_settings_entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, FieldBlock.byteLimit),
            ],
            connectionWindow: connectionWindow, wantedFields: wantedFields?.map { Array($0.utf8) })
        let channel = HTTP2Channel(
            loop: loop, operation: "connect to \(serverName) at \(address)", plan: plan,
            handshakeTimeout: handshakeTimeout, isConnected: false,
            tls: { try tls.map { try TLSSession(client: $0, serverName: serverName) } },
            onEvent: { connection.channelChanged($0) })
        connection.channel = channel
        channel.start(TCPConnection.connect(loop: loop, to: address) { channel.tcpChanged($0) })
        return connection
    }

    /// Sends a request.
    /// - Returns: nil when nothing was sent or queued: not open yet, closing, GOAWAY received, stream ids exhausted, or
    ///   the peer's limit reached.
    public func submit(_ request: HTTP2Request) -> StreamID? {
        submit(PreparedRequest(request))
    }

    /// As ``submit(_:)-(HTTP2Request)``.
    public func submit(_ request: PreparedRequest) -> StreamID? {
        guard channel.isOpen, !isRetired, openStreams < maxConcurrentStreams,
            let stream = channel.session?.submit(request)
        else { return nil }
        channel.planFlush()
        return stream
    }

    /// Resets a stream by RST_STREAM. Its `streamClosed` follows with `code`. Unknown and closed streams are ignored.
    public func reset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        guard channel.isOpen else { return }
        channel.session?.reset(stream, code)
        channel.planFlush()
    }

    /// Sends a PING, answered by ``Event/pingAnswered``.
    public func ping() {
        guard channel.isOpen else { return }
        channel.session?.ping()
        channel.planFlush()
    }

    /// Sends GOAWAY, accepts no more requests, and closes when the open streams are done. Before ``Event/opened``, same
    /// as ``close()``.
    public func shutDown() {
        isRetired = true
        channel.shutDown()
    }

    /// Closes now; `.closed(nil)` is the next event. Open streams get no event.
    public func close() {
        channel.close()
    }

    private func channelChanged(_ event: HTTP2Channel.Event) {
        switch event {
        case .opened: onEvent(.opened)
        case .input(let input): inputArrived(input)
        case .closed(let failure): onEvent(.closed(failure))
        }
    }

    private func inputArrived(_ input: FrameSession.Input) {
        switch input {
        case .head: break  // Of requests, which only a server gets.
        case .response(let stream, let status, let fields): onEvent(.headers(stream, status: status, fields))
        case .body(let stream, let bytes): onEvent(.data(stream, bytes))
        case .ended: break  // `streamClosed` says it, as our side has ended before.
        case .streamClosed(let stream, let code): onEvent(.streamClosed(stream, code))
        case .settings(let limit): onEvent(.settings(maxConcurrentStreams: limit))
        case .goAway(let lastStream, let code, let debug):
            isRetired = true
            onEvent(.goAway(lastStream: lastStream, code, debug: debug))
        case .pingAnswered: onEvent(.pingAnswered)
        }
    }
}

@available(*, unavailable)
extension HTTP2ClientConnection: Sendable {}
