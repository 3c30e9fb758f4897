import CNGHTTP2

/// One nghttp2 session (1.52) without I/O of its own: bytes in, inputs out; calls in, bytes out.
///
/// nghttp2 calls back only within ``receive(_:)`` and ``nextBytes()``. The callbacks note what happened, and
/// ``takeInputs(_:)`` gives it away afterwards, when every method may be called again.
final class FrameSession {
    /// What the peer has done.
    enum Input {
        /// A header is complete: of a request, or of a final response.
        case head(StreamID, FieldBlock)
        /// A piece of a body, inside the bytes last given to ``receive(_:)``.
        case body(StreamID, UnsafeRawBufferPointer)
        /// The peer has ended its side of the stream.
        case ended(StreamID)
        case streamClosed(StreamID, HTTP2ErrorCode)
        /// With the peer's limit on our streams.
        case settings(maxConcurrentStreams: Int)
        case goAway(lastStream: StreamID, HTTP2ErrorCode, debug: [UInt8])
        case pingAnswered
    }

    private struct Stream {
        var body: OutgoingBody?
        var isAnswered = false
    }

    // Set in init after `self` is complete, as the session needs the context; never nil from then on.
    private var raw: OpaquePointer!
    private let isServer: Bool
    /// Whether the peer has announced its settings, with which either end has to begin (RFC 9113 §3.4).
    private(set) var hasPeerSettings = false
    private var streams: [Int32: Stream] = [:]
    private var encoder = FieldEncoder()
    private var inputs: [Input] = []
    /// The header that is just being received. There is never more than one: RFC 9113 §4.3.
    private var head = FieldBlock()
    /// The last complaint of nghttp2, for the failure's text.
    private var complaint: (code: Int32, text: String)?

    /// - Parameter connectionWindow: bytes the peer may send on all streams together before they are read.
    init(isServer: Bool, settings: [nghttp2_settings_entry], connectionWindow: Int) {
        self.isServer = isServer
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        // These, and making the session below, fail only when memory has run out.
        let isMade = nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0
        precondition(isMade, "out of memory for an HTTP/2 session")
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(options)
        }
        setFrameCallbacks(callbacks)
        // Closed streams would only be kept for the priority tree, which nobody uses.
        nghttp2_option_set_no_closed_streams(options, 1)
        let context = Unmanaged.passUnretained(self).toOpaque()
        let result =
            isServer
            ? nghttp2_session_server_new2(&raw, callbacks, context, options)
            : nghttp2_session_client_new2(&raw, callbacks, context, options)
        precondition(result == 0, "no HTTP/2 session: \(String(cString: nghttp2_strerror(result)))")
        nghttp2_submit_settings(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
        nghttp2_session_set_local_window_size(
            raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(clamping: connectionWindow))
    }

    deinit { nghttp2_session_del(raw) }

    // MARK: Bytes

    /// Takes bytes from the peer. They have to stay until the inputs have been taken.
    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        let result = nghttp2_session_mem_recv(raw, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        if result < 0 { throw failure("read HTTP/2 frames", Int32(result)) }
    }

    /// The next frame to be sent, valid until the next call of any method; nil when there is none.
    func nextBytes() throws -> UnsafeRawBufferPointer? {
        var bytes: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(raw, &bytes)
        if count < 0 { throw failure("write HTTP/2 frames", Int32(count)) }
        return count == 0 ? nil : UnsafeRawBufferPointer(start: bytes, count: count)
    }

    /// Exchanges the inputs that wait for an emptied array, so that two arrays serve for ever.
    func takeInputs(_ batch: inout [Input]) {
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &inputs)
    }

    /// Whether the session is over: nothing more to read or to write.
    var isOver: Bool { nghttp2_session_want_read(raw) == 0 && nghttp2_session_want_write(raw) == 0 }

    /// What ended the session, in nghttp2's words.
    var ending: HTTP2Failure { failure("read HTTP/2 frames", complaint?.code ?? NGHTTP2_ERR_PROTO.rawValue) }

    private func failure(_ operation: String, _ code: Int32) -> HTTP2Failure {
        let text = complaint?.text ?? String(cString: nghttp2_strerror(code))
        return HTTP2Failure(operation: operation, reason: .session(code: code), text: text)
    }

    // MARK: Both ends

    /// Streams that are open, or submitted and not yet sent.
    var openStreams: Int { streams.count }

    var peerMaxConcurrentStreams: Int {
        Int(min(nghttp2_session_get_remote_settings(raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS), UInt32(Int32.max)))
    }

    func reset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        guard streams[stream.rawValue] != nil else { return }
        nghttp2_submit_rst_stream(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.rawValue, code.wireValue)
    }

    func ping() {
        nghttp2_submit_ping(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// - Parameter lastStream: nil for the last one that was received.
    func goAway(lastStream: StreamID?, _ code: HTTP2ErrorCode, debug: [UInt8]) {
        let last = lastStream?.rawValue ?? nghttp2_session_get_last_proc_stream_id(raw)
        let result = nghttp2_submit_goaway(
            raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, code.wireValue, debug, debug.count)
        precondition(result == 0, "GOAWAY: stream \(last) is not the peer's, or 16 KiB of debug data or more")
    }

    /// Ends the session once GOAWAY is sent, whatever is open.
    func terminate() {
        nghttp2_session_terminate_session(raw, NGHTTP2_NO_ERROR.rawValue)
    }

    // MARK: Client

    /// - Returns: nil when the session takes no request now; nothing is queued then.
    func submit(_ request: HTTP2Request) -> StreamID? {
        guard nghttp2_session_check_request_allowed(raw) != 0 else { return nil }
        encoder.removeAll()
        encoder.append(":method", request.method)
        encoder.append(":scheme", request.scheme)
        encoder.append(":authority", request.authority)
        encoder.append(":path", request.path, isSensitive: request.isPathSensitive)
        encoder.append(request.fields)
        let body = request.body.isEmpty ? nil : OutgoingBody(request.body, isFinished: true)
        let id = withProvider(body) { provider in
            encoder.withFields { nghttp2_submit_request(raw, nil, $0, $1, provider, nil) }
        }
        guard id > 0 else { return nil }
        streams[id] = Stream(body: body)
        return StreamID(rawValue: id)
    }

    // MARK: Server

    /// - Parameter isStreaming: the body comes by `append` and ends by `finish`; else `bytes` are all of it.
    /// - Returns: false when the stream is closed or has been answered.
    func respond(_ stream: StreamID, status: Int, fields: [HTTPField], bytes: [UInt8], isStreaming: Bool) -> Bool {
        guard let state = streams[stream.rawValue], !state.isAnswered else { return false }
        encoder.removeAll()
        encoder.append(":status", String(status))
        encoder.append(fields)
        let body = bytes.isEmpty && !isStreaming ? nil : OutgoingBody(bytes, isFinished: !isStreaming)
        let result = withProvider(body) { provider in
            encoder.withFields { nghttp2_submit_response(raw, stream.rawValue, $0, $1, provider) }
        }
        guard result == 0 else { return false }
        streams[stream.rawValue] = Stream(body: body, isAnswered: true)
        return true
    }

    /// - Returns: false when the stream does not stream, or more than `limit` bytes would wait.
    func append(_ bytes: [UInt8], to stream: StreamID, limit: Int) -> Bool {
        guard let body = streams[stream.rawValue]?.body, !body.isFinished, body.count + bytes.count <= limit else {
            return false
        }
        body.append(bytes)
        resume(body, of: stream)
        return true
    }

    func finish(_ stream: StreamID) {
        guard let body = streams[stream.rawValue]?.body, !body.isFinished else { return }
        body.finish()
        resume(body, of: stream)
    }

    private func resume(_ body: OutgoingBody, of stream: StreamID) {
        if body.isDeferred { nghttp2_session_resume_data(raw, stream.rawValue) }
    }

    func announce(maxConcurrentStreams: Int) {
        let entry = nghttp2_settings_entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maxConcurrentStreams)
        nghttp2_submit_settings(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), [entry], 1)
    }

    // MARK: From the callbacks

    fileprivate func headBegan(_ stream: Int32, isRequest: Bool) {
        head = FieldBlock()
        if isServer && isRequest { streams[stream] = Stream() }
    }

    fileprivate func fieldReceived(
        name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, isSensitive: Bool
    ) -> Bool {
        head.append(name: name, value: value, isSensitive: isSensitive)
    }

    fileprivate func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = frame.pointee.hd
        let stream = StreamID(rawValue: header.stream_id)
        switch nghttp2_frame_type(UInt32(header.type)) {
        case NGHTTP2_HEADERS:
            headEnded(stream, frame.pointee.headers.cat)
            if isSet(NGHTTP2_FLAG_END_STREAM, header) { inputs.append(.ended(stream)) }
        case NGHTTP2_DATA:
            if isSet(NGHTTP2_FLAG_END_STREAM, header) { inputs.append(.ended(stream)) }
        case NGHTTP2_SETTINGS:
            if !isSet(NGHTTP2_FLAG_ACK, header) {
                hasPeerSettings = true
                inputs.append(.settings(maxConcurrentStreams: peerMaxConcurrentStreams))
            }
        case NGHTTP2_PING:
            if isSet(NGHTTP2_FLAG_ACK, header) { inputs.append(.pingAnswered) }
        case NGHTTP2_GOAWAY:
            let goAway = frame.pointee.goaway
            let debug = UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
            inputs.append(
                .goAway(
                    lastStream: StreamID(rawValue: goAway.last_stream_id),
                    HTTP2ErrorCode(wireValue: goAway.error_code), debug: Array(debug)))
        default: break  // nghttp2 does all that the others ask for.
        }
    }

    private func headEnded(_ stream: StreamID, _ category: nghttp2_headers_category) {
        // A response's final header may come as its second, after a 1xx; trailers have no status.
        let isWanted = isServer ? category == NGHTTP2_HCAT_REQUEST : head.status >= 200
        if isWanted { inputs.append(.head(stream, head)) }
        head = FieldBlock()
    }

    fileprivate func bodyReceived(_ stream: Int32, _ bytes: UnsafeRawBufferPointer) {
        inputs.append(.body(StreamID(rawValue: stream), bytes))
    }

    fileprivate func streamEnded(_ stream: Int32, _ code: UInt32) {
        guard streams.removeValue(forKey: stream) != nil else { return }
        inputs.append(.streamClosed(StreamID(rawValue: stream), HTTP2ErrorCode(wireValue: code)))
    }

    fileprivate func complained(_ code: Int32, _ text: String) {
        complaint = (code, text)
    }
}

@available(*, unavailable)
extension FrameSession: Sendable {}

extension nghttp2_settings_entry {
    init(_ setting: nghttp2_settings_id, _ value: Int) {
        self.init(settings_id: Int32(setting.rawValue), value: UInt32(clamping: value))
    }
}

private func isSet(_ flag: nghttp2_flag, _ header: nghttp2_frame_hd) -> Bool {
    header.flags & UInt8(flag.rawValue) != 0
}

/// Calls `body` with the data provider that reads `source`, or with nil when there is no body.
///
/// The pointer inside is not retained: the session's stream table keeps the body as long as nghttp2 has the stream.
private func withProvider<Result>(
    _ source: OutgoingBody?, _ body: (UnsafePointer<nghttp2_data_provider>?) -> Result
) -> Result {
    guard let source else { return body(nil) }
    var provider = nghttp2_data_provider()
    provider.source.ptr = Unmanaged.passUnretained(source).toOpaque()
    provider.read_callback = { _, _, frame, capacity, flags, source, _ in
        // nghttp2 passes its own buffers and the pointer set above, never nil.
        Unmanaged<OutgoingBody>.fromOpaque(source!.pointee.ptr).takeUnretainedValue()
            .read(into: frame!, capacity: capacity, flags: flags!)
    }
    return body(&provider)
}

private func setFrameCallbacks(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrameReceived)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataReceived)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClosed)
    nghttp2_session_callbacks_set_error_callback2(callbacks, onComplaint)
}

/// The session behind the context given to nghttp2. It is alive: nghttp2 calls back only from calls of its methods.
private func session(_ context: UnsafeMutableRawPointer?) -> FrameSession {
    Unmanaged<FrameSession>.fromOpaque(context!).takeUnretainedValue()
}

private func onBeginHeaders(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    let frame = frame!.pointee
    session(context).headBegan(frame.hd.stream_id, isRequest: frame.headers.cat == NGHTTP2_HCAT_REQUEST)
    return 0
}

private func onHeader(
    _: OpaquePointer?, _: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameLength: Int,
    _ value: UnsafePointer<UInt8>?, _ valueLength: Int, _ flags: UInt8, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    let fits = session(context).fieldReceived(
        name: UnsafeBufferPointer(start: name, count: nameLength),
        value: UnsafeBufferPointer(start: value, count: valueLength),
        isSensitive: flags & UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) != 0)
    // This result resets the stream with INTERNAL_ERROR and leaves the connection alone.
    return fits ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
}

private func onFrameReceived(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    session(context).frameReceived(frame!)
    return 0
}

private func onDataReceived(
    _: OpaquePointer?, _: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    session(context).bodyReceived(stream, UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}

private func onStreamClosed(
    _: OpaquePointer?, _ stream: Int32, _ code: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    session(context).streamEnded(stream, code)
    return 0
}

private func onComplaint(
    _: OpaquePointer?, _ code: Int32, _ text: UnsafePointer<CChar>?, _ length: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    let bytes = UnsafeRawBufferPointer(start: text, count: length)
    session(context).complained(code, String(decoding: bytes, as: UTF8.self))
    return 0
}
