import AdminProtocol
import CallVocabulary

/// What one connection to the admin API has asked and not been answered, and what it has subscribed to: no I/O, no clock.
///
///     connecting ──opened()──▶ open ──ended(_:)──▶ ended
///          └───────────────ended(_:)─────────────────▲
struct AdminSession {
    /// Gets the frame that has the result. Called once, whatever happens.
    typealias Completion = @Sendable (Result<[UInt8], AdminFailure>) -> Void
    /// Gets each frame with a notification, and at last why there are no more.
    typealias Listener = @Sendable (Result<[UInt8], AdminFailure>) -> Void

    private enum State {
        /// Frames wait until it is open.
        case connecting([[UInt8]])
        case open
        case ended(AdminFailure)
    }

    private struct Pending {
        let deadline: Duration
        let completion: Completion
        /// Of a request to subscribe.
        let listener: Listener?
    }

    private let patience: Duration
    private var state = State.connecting([])
    private var pending: [Int64: Pending] = [:]
    private var listeners: [Int: Listener] = [:]
    private var lastID: Int64 = 0

    /// - Parameter patience: how long each request waits for its answer, the time to connect included.
    init(patience: Duration) {
        self.patience = patience
    }

    /// - Parameters:
    ///   - listener: of a request to subscribe: told of everything from its result on.
    /// - Returns: frames to send now.
    mutating func ask(
        _ request: some AdminRequest, now: Duration, listener: Listener? = nil, _ completion: @escaping Completion
    ) -> [[UInt8]] {
        if case .ended(let failure) = state {
            completion(.failure(failure))
            return []
        }
        lastID += 1
        let frame = AdminFrameWriter.request(id: lastID, request)
        pending[lastID] = Pending(deadline: now + patience, completion: completion, listener: listener)
        switch state {
        case .connecting(let waiting):
            state = .connecting(waiting + [frame])
            return []
        case .open: return [frame]
        case .ended: return []
        }
    }

    /// - Returns: frames to send now.
    mutating func opened() -> [[UInt8]] {
        guard case .connecting(let waiting) = state else { return [] }
        state = .open
        return waiting
    }

    mutating func received(_ frame: UnsafeRawBufferPointer) {
        switch AdminFrameReader.answer(frame) {
        case .result(let id): finish(id, .success(Array(frame)))
        case .error(let id?, let error):
            finish(id, .failure(error.refusal.map { .refused($0) } ?? .notTaken(error)))
        case .notification(_, let subscription?): listeners[subscription]?(.success(Array(frame)))
        // Nobody's: of a server that knows more than this client, or that could not read an id, and ours can be read.
        case .notification(_, nil), .error(nil, _), nil: break
        }
    }

    /// There is no connection any more, or never was one. Only the first call counts.
    mutating func ended(_ failure: AdminFailure) {
        if case .ended = state { return }
        state = .ended(failure)
        let unanswered = pending.sorted { $0.key < $1.key }
        pending = [:]
        for (_, request) in unanswered { request.completion(.failure(failure)) }
        let deserted = listeners.sorted { $0.key < $1.key }
        listeners = [:]
        for (_, listener) in deserted { listener(.failure(failure)) }
    }

    /// When ``lookAtDeadlines(now:)`` is due.
    var nextDeadline: Duration? { pending.values.map(\.deadline).min() }

    mutating func lookAtDeadlines(now: Duration) {
        for (id, request) in pending.sorted(by: { $0.key < $1.key }) where request.deadline <= now {
            pending[id] = nil
            request.completion(.failure(.timedOut))
        }
    }

    private mutating func finish(_ id: RequestID, _ result: Result<[UInt8], AdminFailure>) {
        guard case .number(let number) = id, let request = pending.removeValue(forKey: number) else { return }
        if let listener = request.listener, case .success(let frame) = result {
            if let started = try? AdminFrameReader.result(SubscriptionStarted.self, in: frame) {
                listeners[started.subscription] = listener
            }
        }
        request.completion(result)
    }
}
