import CallVocabulary
import SignalProtocol

extension ClientSession {
    /// Handles a text frame of the connection `attempt`.
    public mutating func handle(
        frame: UnsafeRawBufferPointer, attempt: UInt64, now: Duration, effects: inout [SessionEffect]
    ) {
        // `remaining_ms` is added to the server's clock as estimated here, so that all times of a call are on one
        // clock.
        switch SignalDecoder.decode(serverFrame: frame, receivedAt: serverTime(at: now)) {
        case .success(.message(let message)):
            handle(.received(attempt: attempt, message), now: now, effects: &effects)
        case .success(.ignored(_, let seq)):
            handle(.receivedUnknown(attempt: attempt, seq: seq), now: now, effects: &effects)
        case .failure(let failure):
            guard let id = failure.id else {
                return handle(.receivedUnreadable(attempt: attempt), now: now, effects: &effects)
            }
            let error = SignalError(.internalError, "the answer cannot be read: \(failure.error.message)")
            handle(.received(attempt: attempt, .error(id, error)), now: now, effects: &effects)
        }
    }

    /// The text frame of a ``SessionEffect/send(_:)``.
    /// - Returns: nil when the frame is longer than ``maxFrameBytes``; `effects` then completes its command with an
    ///   error.
    public mutating func frame(
        of message: ClientMessage, now: Duration, effects: inout [SessionEffect]
    ) -> [UInt8]? {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, into: &frame)
        if frame.count <= maxFrameBytes { return frame }
        switch message {
        case .request(let id, _), .answeredNotification(let id, _):
            handle(.tooLarge(attempt: attempt, id, limit: maxFrameBytes), now: now, effects: &effects)
        case .notification: break  // Candidates that no server would take: sent, they would cost the connection.
        }
        return nil
    }
}
