import CallCore
import CallVocabulary
import Synchronization

/// The outputs of one batch of inputs, held until its rows are durable; replies may be refused earlier.
final class PendingBatch: Sendable {
    /// When the batch was given to the store.
    let since: ContinuousClock.Instant
    /// nil once released.
    private let outputs: Mutex<HeldEffects?>

    init(_ outputs: HeldEffects, since: ContinuousClock.Instant) {
        self.since = since
        self.outputs = Mutex(outputs)
    }

    /// Whether the outputs were released.
    var isReleased: Bool { outputs.withLock { $0 == nil } }

    /// Takes the outputs of the durable batch. On the store's thread.
    func release(_ receipt: CommitReceipt) -> [CoreEffect] {
        outputs.withLock { outputs in
            defer { outputs = nil }
            return outputs?.release(receipt) ?? []
        }
    }

    /// Removes the replies to requests, and returns refusals in their place, so that clients are answered in time. The
    /// decisions stand, and are released once durable; a repeated request finds them.
    ///
    /// The reply to an opened session stays: the shard closes its connection, and the client resumes.
    func refuseAnswers(with error: SignalError) -> [RequestRefusal] {
        outputs.withLock { outputs in
            outputs?.takeOut { $0.refusal(error) } ?? []
        }
    }
}

/// A refusal in place of a request's reply.
enum RequestRefusal {
    case client(ConnectionID, RequestID, SignalError)
    case administrator(AdminRequestID, AdminRefusal)
}

extension CoreEffect {
    /// The refusal in place of a reply; nil for other effects.
    fileprivate func refusal(_ error: SignalError) -> RequestRefusal? {
        switch self {
        case .send(let connection, .reply(let request, let reply)):
            if case .opened = reply { nil } else { .client(connection, request, error) }
        case .send(let connection, .error(let request?, _)): .client(connection, request, error)
        case .answer(let request, _): .administrator(request, AdminRefusal(.overloaded, error.message))
        case .send, .persist, .disconnect, .queuePush, .queueNewPush, .confirmPush, .transmitPush, .dropPush, .lookUp,
            .settle, .readHistory, .authorize, .authorizeSession, .observe:
            nil
        }
    }
}

extension CoreInput {
    /// The refusal of a request that is not passed to the core; nil for other inputs.
    func refusal(_ error: SignalError) -> RequestRefusal? {
        switch self {
        // It is not repeated.
        case .client(.backend(_, _, .unfollow, _)): nil
        case .client(let input): input.request.map { .client(input.connection, $0, error) }
        case .administered(let request, _): .administrator(request, AdminRefusal(.overloaded, error.message))
        case .connectionLost, .push, .store, .authorized, .sessionAuthorized, .drainingBegan, .reconfigured: nil
        }
    }
}
