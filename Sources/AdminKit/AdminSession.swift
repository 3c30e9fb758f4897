import AdminProtocol
import CallVocabulary

/// The requests in flight and the subscriptions of one connection to the admin API. No I/O, no clock.
///
///     connecting ──opened()──▶ open ──ended(_:)──▶ ended
///          └───────────────ended(_:)─────────────────▲
struct AdminSession {
    /// Called exactly once, with the result's frame or the failure.
    typealias Completion = @Sendable (Result<[UInt8], AdminFailure>) -> Void
    /// Called with each notification's frame, and finally with the reason for the end.
    typealias Listener = @Sendable (Result<[UInt8], AdminFailure>) -> Void

    private enum State {
        /// Holds frames until the connection opens.
        case connecting([[UInt8]])
        case open
        case ended(AdminFailure)
    }

    private struct Pending {
        let deadline: Duration
        let completion: Completion
        /// The listener of a subscription request.
        let listener: Listener?
    }

    private let patience: Duration
    private var state = State.connecting([])
    private var pending: [Int64: Pending] = [:]
    private var listeners: [Int: Listener] = [:]
    private var lastID: Int64 = 0

    /// - Parameter patience: the timeout of each request, including the time to connect.
    init(patience: Duration) {
        self.patience = patience
    }

    /// - Parameters:
    ///   - listener: for a subscription request: gets all events after its result.
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
        // A notification or error without a number or id comes from a newer server, or answers an unreadable id; this
        // client sends readable ids.
        case .notification(_, nil), .error(nil, _), nil: break
        }
    }

    /// Records that the connection ended or failed to open. Only the first call has an effect.
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
