import CallVocabulary
import WireJSON

/// Decodes frames: ``decode(frame:in:)`` on a server, ``decode(serverFrame:receivedAt:)`` on a client.
///
/// Stateless; may be used from any thread. Unknown members are ignored, `null` counts as missing, and the last of
/// duplicate members counts. `sdp`, `custom` and each of `candidates` are kept byte for byte.
public enum SignalDecoder {
    /// Decodes a client's frame.
    ///
    /// A notification may also be called with an `id` (``CallVocabulary/ClientMessage/answeredNotification(_:_:)``). A
    /// request without an `id` is an error (`invalid_request`).
    ///
    /// - Parameters:
    ///   - frame: a whole text frame. It is not kept.
    ///   - memory: for payloads that are only relayed, in `call.candidates` and `call.update`; nil allocates each time.
    public static func decode(
        frame: UnsafeRawBufferPointer, in memory: PayloadMemory? = nil
    ) -> Result<ClientMessage, DecodingFailure> {
        let envelope: Envelope
        do {
            envelope = try Envelope(frame)
        } catch {
            return .failure(error)
        }
        let id = envelope.requestID
        do throws(SignalError) {
            return .success(try clientMessage(envelope, id: id, in: memory))
        } catch {
            return .failure(DecodingFailure(id: id, error))
        }
    }

    /// ``decode(frame:in:)`` for bytes in an array.
    public static func decode(
        frame: [UInt8], in memory: PayloadMemory? = nil
    ) -> Result<ClientMessage, DecodingFailure> {
        frame.withUnsafeBytes { decode(frame: $0, in: memory) }
    }

    /// Decodes a server's frame.
    ///
    /// Results are distinguished by their members, without knowing the method of the request. Messages of newer servers
    /// are tolerated: an unknown notification is ``ServerFrame/ignored(method:seq:)``, an unknown error is an
    /// `internal_error` with the server's message.
    ///
    /// - Parameters:
    ///   - serverFrame: a whole text frame. It is not kept.
    ///   - receivedAt: the current time on the client's clock. If given, an `expires_at` with a `remaining_ms` becomes
    ///     `receivedAt` plus that time, so the clocks need not agree. All other times are on the server's clock.
    public static func decode(
        serverFrame: UnsafeRawBufferPointer, receivedAt: Instant? = nil
    ) -> Result<ServerFrame, DecodingFailure> {
        let envelope: Envelope
        do {
            envelope = try Envelope(serverFrame)
        } catch {
            return .failure(error)
        }
        do throws(SignalError) {
            return .success(try ServerFrameReader(receivedAt: receivedAt).frame(envelope))
        } catch {
            return .failure(DecodingFailure(id: envelope.requestID, error))
        }
    }

    /// ``decode(serverFrame:receivedAt:)`` for bytes in an array.
    public static func decode(
        serverFrame: [UInt8], receivedAt: Instant? = nil
    ) -> Result<ServerFrame, DecodingFailure> {
        serverFrame.withUnsafeBytes { decode(serverFrame: $0, receivedAt: receivedAt) }
    }

    /// Decodes the body of `POST /v1/pushes/{push_id}/report`: `call_id`, `result` and `error?` as in `push.report`.
    /// - Parameter push: the id in the path.
    public static func decode(reportBody: [UInt8], of push: PushID) throws(SignalError) -> PushReport {
        try decode(body: reportBody) { (body) throws(FieldFailure) in try body.pushReport(push) }
    }

    /// Decodes the body of `POST /v1/calls/{call_id}/{action}`: the members of the method of that name.
    /// - Parameter call: the id in the path.
    public static func decode(
        body: [UInt8], of action: CallAction, in call: CallID
    ) throws(SignalError) -> CallRequest {
        try decode(body: body) { (body) throws(FieldFailure) in try body.request(action, in: call) }
    }

    /// Decodes the body of `POST /v1/backend/calls`: the members of `call.invite`, `from` and `from_name?`.
    /// - Parameter call: the call's id, if the body has none.
    public static func decode(backendInvite body: [UInt8], or call: CallID) throws(SignalError) -> BackendInvite {
        try decode(body: body) { (body) throws(FieldFailure) in try body.backendInvite(call) }
    }

    static func decode<Value>(
        body: [UInt8], _ read: (FieldReader) throws(FieldFailure) -> Value
    ) throws(SignalError) -> Value {
        let result: Result<Value, SignalError> = body.withUnsafeBytes { bytes in
            let value: JSONValue
            do throws(JSONSyntaxError) {
                value = try JSONScanner.document(bytes)
            } catch {
                guard error.reason != .tooDeep else { return .failure(DeepFrame.error("body")) }
                return .failure(SignalError(.parseError, "not valid JSON: \(error)"))
            }
            guard value.kind == .object else {
                return .failure(SignalError(.invalidRequest, "expected a JSON object"))
            }
            do throws(FieldFailure) {
                return .success(try read(FieldReader(JSONObject(value))))
            } catch {
                return .failure(error.error(in: "body"))
            }
        }
        return try result.get()
    }

    private static func clientMessage(
        _ envelope: Envelope, id: RequestID?, in memory: PayloadMemory?
    ) throws(SignalError) -> ClientMessage {
        let name = try envelope.methodName()
        guard let method = ClientMethod.named(name) else { throw Envelope.unknownMethod(name) }
        let params = try envelope.checkedParams()
        if id == nil, !method.isNotification { throw Envelope.unanswerable(method) }
        do throws(FieldFailure) {
            switch try params.message(of: method, in: memory) {
            case .request(let request):
                guard let id else { throw FieldFailure(path: "id", problem: .missing, expected: "") }
                return .request(id, request)
            case .notification(let notification):
                guard let id else { return .notification(notification) }
                return .answeredNotification(id, notification)
            }
        } catch {
            var refusal = error.error(in: "params")
            // Candidates have no id, so that the call alone says which of them are refused.
            if method == .callCandidates { refusal.call = (try? params.optionalIdentifier("call_id")) ?? nil }
            throw refusal
        }
    }
}
