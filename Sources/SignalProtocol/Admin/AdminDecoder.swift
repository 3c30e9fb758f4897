import CallVocabulary

/// Reads frames of the admin API: ``decode(frame:)`` on a server, ``decode(serverFrame:)`` on a client.
///
/// Stateless; may be used from any thread. As lenient as ``SignalDecoder``: unknown members are ignored, `null` counts
/// as left out, and of a member that comes twice the last one counts.
public enum AdminDecoder {
    /// Reads what a client sent.
    /// - Parameter frame: the whole of a text frame. It is not kept.
    public static func decode(frame: UnsafeRawBufferPointer) -> Result<AdminCall, DecodingFailure> {
        read(frame) { (envelope) throws(SignalError) in
            let name = try envelope.methodName()
            guard let method = AdminMethod(rawValue: name) else { throw Envelope.unknownMethod(name) }
            let params = try envelope.checkedParams()
            guard let id = envelope.requestID else { throw Envelope.unanswerable(name) }
            do throws(FieldFailure) {
                return AdminCall(id: id, try params.request(of: method))
            } catch {
                throw error.error(in: "params")
            }
        }
    }

    /// Reads what the server sent.
    ///
    /// Results are told apart by their members. Every `invalid_params` that names its request is read as a refusal,
    /// whoever refused. What a newer server may say in addition is survived: unknown notifications are nil, and an
    /// unknown error is an `internal_error` with the server's words.
    /// - Parameter serverFrame: the whole of a text frame. It is not kept.
    public static func decode(serverFrame: UnsafeRawBufferPointer) -> Result<AdminAnswer?, DecodingFailure> {
        read(serverFrame) { (envelope) throws(SignalError) in try AdminFrameReader().answer(envelope) }
    }

    private static func read<Message>(
        _ frame: UnsafeRawBufferPointer, _ message: (Envelope) throws(SignalError) -> Message
    ) -> Result<Message, DecodingFailure> {
        let envelope: Envelope
        do {
            envelope = try Envelope(frame, upTo: AdminLimits.frame)
        } catch {
            return .failure(error)
        }
        do throws(SignalError) {
            return .success(try message(envelope))
        } catch {
            return .failure(DecodingFailure(id: envelope.requestID, error))
        }
    }
}
