import CNGHTTP2

/// One nghttp2 session (1.52) without I/O: bytes in, inputs out; calls in, bytes out.
///
/// nghttp2 calls back only within ``receive(_:)`` and ``nextBytes(_:)``. The callbacks record inputs, and
/// ``takeInputs(_:)`` returns them afterwards, when every method may be called again.
final class FrameSession {
    /// An event from the peer.
    enum Input {
        /// The header of a request is complete. Indirect, to keep the other cases small.
        indirect case head(StreamID, FieldBlock)
        /// The header of a final response is complete.
        case response(StreamID, status: Int, [HTTPField])
        /// A part of a body, inside the bytes last given to ``receive(_:)``.
        case body(StreamID, UnsafeRawBufferPointer)
        /// A client has ended its side of the stream.
        case ended(StreamID)
        case streamClosed(StreamID, HTTP2ErrorCode)
        /// The peer's limit on this end's streams.
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
    private let wantedFields: [[UInt8]]?
    /// Whether the peer's settings have arrived, which each end sends first (RFC 9113 §3.4).
    private(set) var hasPeerSettings = false
    private var streams = StreamTable<Stream>()
    private var encoder = FieldEncoder()
    /// The header in submission; kept to reuse its storage.
    private var fields: [nghttp2_nv] = []
    private var inputs: [Input] = []
    /// The header in reception. There is at most one (RFC 9113 §4.3).
    private var head = FieldBlock()
    /// nghttp2's last error message, for the failure's text.
    private var complaint: (code: Int32, text: String)?

    /// - Parameters:
    ///   - connectionWindow: bytes that the peer may send on all streams before they are read.
    ///   - wantedFields: the names of the header fields to report; nil for all.
    init(
        isServer: Bool, settings: [nghttp2_settings_entry], connectionWindow: Int, wantedFields: [[UInt8]]? = nil
    ) {
        self.isServer = isServer
        self.wantedFields = wantedFields
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        // These calls, and the creation of the session below, fail only when memory runs out.
        let isMade = nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0
        precondition(isMade, "out of memory for an HTTP/2 session")
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(options)
        }
        setFrameCallbacks(callbacks)
        // Closed streams only serve the priority tree, which is not used.
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

    /// Takes bytes from the peer. They must stay valid until the inputs have been taken.
    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        let result = nghttp2_session_mem_recv(raw, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        if result < 0 { throw failure("read HTTP/2 frames", Int32(result)) }
    }

    /// Passes the next frame to send to `body`, which must not call this session: the frame is valid until then.
    /// - Returns: false when there is none.
    func nextBytes(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        var bytes: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(raw, &bytes)
        if count < 0 { throw failure("write HTTP/2 frames", Int32(count)) }
        guard count > 0 else { return false }
        // The session owns the frame.
        try withExtendedLifetime(self) { try body(UnsafeRawBufferPointer(start: bytes, count: count)) }
        return true
    }

    /// Exchanges the recorded inputs for an emptied array, so that two arrays are reused.
    func takeInputs(_ batch: inout [Input]) {
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &inputs)
    }

    /// Whether the session has ended: nothing more to read or to write.
    var isOver: Bool {
        withExtendedLifetime(self) { nghttp2_session_want_read(raw) == 0 && nghttp2_session_want_write(raw) == 0 }
    }

    /// The error that ended the session, with nghttp2's message.
    var ending: HTTP2Failure { failure("read HTTP/2 frames", complaint?.code ?? NGHTTP2_ERR_PROTO.rawValue) }

    private func failure(_ operation: String, _ code: Int32) -> HTTP2Failure {
        let text = complaint?.text ?? String(cString: nghttp2_strerror(code))
        return HTTP2Failure(operation: operation, reason: .session(code: code), text: text)
    }

    // MARK: Both ends

    /// The number of open streams, including submitted ones that are not sent yet.
    var openStreams: Int { streams.count }

    var peerMaxConcurrentStreams: Int {
        let most = withExtendedLifetime(self) {
            nghttp2_session_get_remote_settings(raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        }
        return Int(min(most, UInt32(Int32.max)))
    }

    func reset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        guard streams[stream.rawValue] != nil else { return }
        nghttp2_submit_rst_stream(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.rawValue, code.wireValue)
    }

    func ping() {
        _ = withExtendedLifetime(self) { nghttp2_submit_ping(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }
    }

    /// - Parameter lastStream: nil for the last received stream.
    func goAway(lastStream: StreamID?, _ code: HTTP2ErrorCode, debug: [UInt8]) {
        let last = lastStream?.rawValue ?? nghttp2_session_get_last_proc_stream_id(raw)
        let result = nghttp2_submit_goaway(
            raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, code.wireValue, debug, debug.count)
        precondition(result == 0, "GOAWAY: stream \(last) is not the peer's, or 16 KiB of debug data or more")
    }

    /// Ends the session once GOAWAY is sent, regardless of open streams.
    func terminate() {
        _ = withExtendedLifetime(self) { nghttp2_session_terminate_session(raw, NGHTTP2_NO_ERROR.rawValue) }
    }

    // MARK: Client

    /// - Returns: nil when the session accepts no request now; nothing is queued then.
    func submit(_ request: PreparedRequest) -> StreamID? {
        guard nghttp2_session_check_request_allowed(raw) != 0 else { return nil }
        fields.removeAll(keepingCapacity: true)
        request.origin.append(to: &fields)
        request.own.append(to: &fields)
        request.shared?.append(to: &fields)
        // nghttp2 copies the fields before it returns, so `request` is not retained further.
        let id = withExtendedLifetime(request) {
            withProvider(isNeeded: !request.body.isEmpty) {
                nghttp2_submit_request(raw, nil, fields, fields.count, $0, nil)
            }
        }
        guard id > 0 else { return nil }
        let body = request.body.isEmpty ? nil : OutgoingBody(request.body, isFinished: true)
        streams.set(id, Stream(body: body))
        return StreamID(rawValue: id)
    }

    // MARK: Server

    /// - Parameter isStreaming: `append` and `finish` supply the body; otherwise `bytes` is the whole body.
    /// - Returns: false when the stream is closed or has been answered.
    func respond(_ stream: StreamID, status: Int, fields: [HTTPField], bytes: [UInt8], isStreaming: Bool) -> Bool {
        guard let state = streams[stream.rawValue], !state.isAnswered else { return false }
        encoder.removeAll()
        encoder.append(":status", String(status))
        encoder.append(fields)
        let body = bytes.isEmpty && !isStreaming ? nil : OutgoingBody(bytes, isFinished: !isStreaming)
        let result = withProvider(isNeeded: body != nil) { provider in
            encoder.withFields { nghttp2_submit_response(raw, stream.rawValue, $0, $1, provider) }
        }
        guard result == 0 else { return false }
        streams.set(stream.rawValue, Stream(body: body, isAnswered: true))
        return true
    }

    /// - Returns: false when the stream is not streaming, or more than `limit` bytes would wait.
    func append(_ bytes: [UInt8], to stream: StreamID, limit: Int) -> Bool {
        let isTaken = changeBody(of: stream) { body in
            guard body.count + bytes.count <= limit else { return false }
            body.append(bytes)
            return true
        }
        return isTaken ?? false
    }

    func finish(_ stream: StreamID) {
        _ = changeBody(of: stream) { $0.finish() }
    }

    /// Changes a streaming body, and resumes nghttp2 if it waits for more.
    private func changeBody<Result>(of stream: StreamID, _ change: (inout OutgoingBody) -> Result) -> Result? {
        var isDeferred = false
        let result = streams.update(stream.rawValue) { state -> Result? in
            guard state.body?.isFinished == false else { return nil }
            defer { isDeferred = state.body?.isDeferred ?? false }
            // The body exists: it is not finished.
            return change(&state.body!)
        }
        if isDeferred { nghttp2_session_resume_data(raw, stream.rawValue) }
        return result ?? nil
    }

    func announce(maxConcurrentStreams: Int) {
        let entry = nghttp2_settings_entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maxConcurrentStreams)
        nghttp2_submit_settings(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), [entry], 1)
    }

    // MARK: From the callbacks

    fileprivate func headBegan(_ stream: Int32, isRequest: Bool) {
        head = FieldBlock()
        if isServer && isRequest { streams.set(stream, Stream()) }
    }

    fileprivate func fieldReceived(
        name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, isSensitive: Bool
    ) -> Bool {
        head.append(name: name, value: value, isSensitive: isSensitive, wanted: wantedFields)
    }

    fileprivate func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = frame.pointee.hd
        let stream = StreamID(rawValue: header.stream_id)
        switch nghttp2_frame_type(UInt32(header.type)) {
        case NGHTTP2_HEADERS:
            headEnded(stream, frame.pointee.headers.cat)
            if isServer, isSet(NGHTTP2_FLAG_END_STREAM, header) { inputs.append(.ended(stream)) }
        case NGHTTP2_DATA:
            if isServer, isSet(NGHTTP2_FLAG_END_STREAM, header) { inputs.append(.ended(stream)) }
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
        // A response's final header may follow a 1xx header; trailers have no status.
        if isServer {
            if category == NGHTTP2_HCAT_REQUEST { inputs.append(.head(stream, head)) }
        } else if head.status >= 200 {
            inputs.append(.response(stream, status: head.status, head.fields))
        }
        head = FieldBlock()
    }

    fileprivate func bodyReceived(_ stream: Int32, _ bytes: UnsafeRawBufferPointer) {
        inputs.append(.body(StreamID(rawValue: stream), bytes))
    }

    fileprivate func streamEnded(_ stream: Int32, _ code: UInt32) {
        guard streams.remove(stream) else { return }
        inputs.append(.streamClosed(StreamID(rawValue: stream), HTTP2ErrorCode(wireValue: code)))
    }

    fileprivate func readBody(
        of stream: Int32, into frame: UnsafeMutablePointer<UInt8>, capacity: Int, flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        let count = streams.update(stream) { $0.body?.read(into: frame, capacity: capacity, flags: flags) }
        // A stream that ended before its body is read is an internal error, which resets only that stream.
        return count.flatMap(\.self) ?? Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
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

/// Calls `body` with the data provider for the bodies in the stream table, or with nil.
private func withProvider<Result>(
    isNeeded: Bool, _ body: (UnsafePointer<nghttp2_data_provider>?) -> Result
) -> Result {
    guard isNeeded else { return body(nil) }
    var provider = nghttp2_data_provider()
    provider.read_callback = { _, stream, frame, capacity, flags, _, context in
        // nghttp2 passes its own buffers, never nil.
        session(context).readBody(of: stream, into: frame!, capacity: capacity, flags: flags!)
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
    // This result resets the stream with INTERNAL_ERROR and keeps the connection.
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
