import CallVocabulary
import WireJSON

/// Reads frames: ``decode(frame:in:)`` on a server, ``decode(serverFrame:receivedAt:)`` on a client.
///
/// Stateless; may be used from any thread. Unknown members are ignored, `null` counts as left out, and of a member that
/// comes twice the last one counts. `sdp`, `custom` and each of `candidates` are passed on byte for byte.
public enum SignalDecoder {
    /// Reads what a client sent.
    ///
    /// A method that is a notification may also be called with an `id`
    /// (``CallVocabulary/ClientMessage/answeredNotification(_:_:)``); one that needs an answer may not be called
    /// without (`invalid_request`).
    ///
    /// - Parameters:
    ///   - frame: the whole of a text frame. It is not kept.
    ///   - memory: for what is only passed on, in `call.candidates` and `call.update`; nil asks for new memory each time.
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

    /// Reads what the server sent.
    ///
    /// Results are told apart by their members, so nobody has to remember which request had which method. What a newer
    /// server may say in addition is survived: unknown notifications are ``ServerFrame/ignored(method:seq:)``, and an
    /// unknown error is an `internal_error` with the server's words.
    ///
    /// - Parameters:
    ///   - serverFrame: the whole of a text frame. It is not kept.
    ///   - receivedAt: the time now on the client's own clock. Given that, each `expires_at` that comes with a
    ///     `remaining_ms` is read as so much later than `receivedAt`, and no clocks need to agree. All other times, and
    ///     without `receivedAt` these too, are on the server's clock.
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

    /// Reads the body of `POST /v1/pushes/{push_id}/report`: `call_id`, `result` and `error?` as in `push.report`.
    /// - Parameter push: from the path.
    public static func decode(
        reportBody: UnsafeRawBufferPointer, of push: PushID
    ) -> Result<PushReport, DecodingFailure> {
        do throws(JSONSyntaxError) {
            let body = try JSONScanner.document(reportBody)
            guard body.kind == .object else {
                return .failure(DecodingFailure(SignalError(.invalidRequest, "expected a JSON object")))
            }
            do throws(FieldFailure) {
                return .success(try FieldReader(JSONObject(body)).pushReport(push))
            } catch {
                return .failure(DecodingFailure(error.error(in: "body")))
            }
        } catch {
            guard error.reason != .tooDeep else { return .failure(DecodingFailure(DeepFrame.error("body"))) }
            return .failure(DecodingFailure(SignalError(.parseError, "not valid JSON: \(error)")))
        }
    }

    private static func clientMessage(
        _ envelope: Envelope, id: RequestID?, in memory: PayloadMemory?
    ) throws(SignalError) -> ClientMessage {
        let name = try envelope.methodName()
        guard let method = ClientMethod.named(name) else { throw Envelope.unknownMethod(name) }
        let params = try envelope.checkedParams()
        if id == nil, !method.isNotification { throw Envelope.unanswerable(name) }
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
            throw error.error(in: "params")
        }
    }
}
