import CallCore
import CallVocabulary
import Synchronization

/// What one batch of inputs gave, until the store has it: held back, but for requests that have waited too long.
final class PendingBatch: Sendable {
    /// When the store was given it.
    let since: ContinuousClock.Instant
    /// nil once it was released.
    private let outputs: Mutex<[CoreEffect]?>

    init(_ outputs: [CoreEffect], since: ContinuousClock.Instant) {
        self.since = since
        self.outputs = Mutex(outputs)
    }

    /// Whether nothing of it is held back any more.
    var isReleased: Bool { outputs.withLock { $0 == nil } }

    /// What is to be carried out now that the batch is durable. On the store's thread.
    func release() -> [CoreEffect] {
        outputs.withLock { outputs in
            defer { outputs = nil }
            return outputs ?? []
        }
    }

    /// Takes the answers to requests out, to be given as refusals: whoever asked is told something in time. What was decided
    /// stands, and is carried out once it is durable; the request repeated finds it.
    ///
    /// An opened session stays: its client is sent away by the shard, and resumes.
    func refuseAnswers(with error: SignalError) -> [RequestRefusal] {
        outputs.withLock { outputs in
            guard let held = outputs else { return [] }
            var refusals: [RequestRefusal] = []
            outputs = held.filter { effect in
                guard let refusal = effect.refusal(error) else { return true }
                refusals.append(refusal)
                return false
            }
            return refusals
        }
    }
}

/// A request that is answered with an error in the place of its answer.
enum RequestRefusal {
    case client(ConnectionID, RequestID, SignalError)
    case administrator(AdminRequestID, AdminRefusal)
}

extension CoreEffect {
    /// nil for what is no answer.
    fileprivate func refusal(_ error: SignalError) -> RequestRefusal? {
        switch self {
        case .send(let connection, .reply(let request, let reply)):
            if case .opened = reply { nil } else { .client(connection, request, error) }
        case .send(let connection, .error(let request?, _)): .client(connection, request, error)
        case .answer(let request, _): .administrator(request, AdminRefusal(.limitReached, error.message))
        case .send, .persist, .disconnect, .queuePush, .queueNewPush, .confirmPush, .transmitPush, .dropPush, .findCall,
            .readHistory, .observe:
            nil
        }
    }
}

extension CoreInput {
    /// The refusal of a request that the core is not given; nil for what is no request.
    func refusal(_ error: SignalError) -> RequestRefusal? {
        switch self {
        case .client(let input): input.request.map { .client(input.connection, $0, error) }
        case .administered(let request, _): .administrator(request, AdminRefusal(.limitReached, error.message))
        case .connectionLost, .push, .store, .drainingBegan, .reconfigured: nil
        }
    }
}
