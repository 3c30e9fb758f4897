import CNGHTTP2
import EventLoop
import TLS

/// One HTTP/2 connection of a client. Created and used on the thread of its loop.
///
/// It keeps itself alive until its ``Event/closed(_:)``, which comes exactly once and last. Events are never delivered
/// from within a call of one of the methods, and any method may be called from within an event. What is submitted
/// goes to the network together at the end of the loop's turn.
public final class HTTP2ClientConnection {
    public enum Event {
        /// The connection stands and TLS has agreed on `h2`. One request may be submitted before the peer's settings.
        case opened
        /// The peer has announced settings: at first, and again whenever it changes them. The number is its limit.
        case settings(maxConcurrentStreams: Int)
        /// The final response's header (1xx are left out, and so are trailers).
        case headers(StreamID, status: Int, [HTTPField])
        /// A piece of the response's body. The bytes are valid during the callback only.
        case data(StreamID, UnsafeRawBufferPointer)
        /// The stream is over: `.noError` when the response is complete, `.refusedStream` when the peer has not
        /// touched the request (RST_STREAM, or the stream is above GOAWAY's last one), else what the peer, or
        /// ``reset(_:_:)``, gave.
        case streamClosed(StreamID, HTTP2ErrorCode)
        /// The peer wants no more requests. `streamClosed(_, .refusedStream)` for the streams above `lastStream`
        /// follows at once; the others are still answered, or not. It may come more than once.
        case goAway(lastStream: StreamID, HTTP2ErrorCode, debug: [UInt8])
        /// The answer to ``ping()``.
        case pingAnswered
        /// The connection is over; nil after an orderly end. Streams for which no `streamClosed` came get none:
        /// the peer may have acted on them or not, nobody can know.
        case closed(HTTP2Failure?)
    }

    /// Bytes the peer may send on all streams together, and on one, before we have read them. Answers are short;
    /// what counts is that a burst of them never waits for a window update.
    private static let connectionWindow = 1024 * 1024
    private static let streamWindow = 256 * 1024
    /// How many streams are taken before the peer has announced its limit. APNs starts with 1.
    private static let presumedStreamLimit = 1

    // Set right after init, which has to hand `self` to the channel; never nil from then on.
    private var channel: HTTP2Channel!
    private let onEvent: (Event) -> Void
    private var isRetired = false

    /// How many streams are submitted and not closed.
    public var openStreams: Int { channel.session?.openStreams ?? 0 }
    /// How many the peer allows now. 1 until its settings have come, for APNs starts with 1.
    public var maxConcurrentStreams: Int {
        guard let session = channel.session, session.hasPeerSettings else { return Self.presumedStreamLimit }
        return session.peerMaxConcurrentStreams
    }

    private init(onEvent: @escaping (Event) -> Void) {
        self.onEvent = onEvent
    }

    /// Starts to connect.
    /// - Parameters:
    ///   - serverName: whom the certificate has to name: a host name (also sent as SNI) or an IP address.
    ///   - tls: nil for cleartext with prior knowledge (RFC 9113 §3.3), for tests.
    ///   - wantedFields: the names of the response fields to be told of, in lower case; nil for all. Each that is not
    ///     wanted saves its two strings.
    ///   - handshakeTimeout: until ``Event/opened``; the connection then fails with ``HTTP2Failure/Reason/timedOut``.
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
    /// - Returns: nil when nothing was sent and nothing is queued: not open yet, closing, GOAWAY seen, stream numbers
    ///   used up, or as many streams open as the peer allows.
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

    /// Gives a stream up by RST_STREAM. Its `streamClosed` follows with `code`. Unknown and closed streams are ignored.
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

    /// Sends GOAWAY, takes no more requests, and closes when the open streams are done. Before ``Event/opened`` it is
    /// the same as ``close()``.
    public func shutDown() {
        isRetired = true
        channel.shutDown()
    }

    /// Closes now; `.closed(nil)` follows and nothing before it. Open streams end without an event of their own.
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
