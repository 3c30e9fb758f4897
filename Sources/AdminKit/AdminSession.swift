import CallVocabulary
import SignalProtocol

/// What one connection to the admin API has asked and not been answered: no I/O, no clock.
///
///     connecting ──opened()──▶ open ──ended(_:)──▶ ended
///          └───────────────ended(_:)─────────────────▲
struct AdminSession {
    /// An answer; of a list that goes on, with what to ask for the next page with.
    struct Page: Equatable, Sendable {
        var reply: AdminReply
        var next: String?
    }

    typealias Completion = @Sendable (Result<Page, AdminFailure>) -> Void

    private enum State {
        /// Frames wait until it is open.
        case connecting([[UInt8]])
        case open
        case ended(AdminFailure)
    }

    private struct Pending {
        let deadline: Duration
        let completion: Completion
    }

    private let patience: Duration
    private var state = State.connecting([])
    private var pending: [Int64: Pending] = [:]
    private var lastID: Int64 = 0

    /// - Parameter patience: how long each request waits for its answer, the time to connect included.
    init(patience: Duration) {
        self.patience = patience
    }

    /// - Parameter completion: called once, whatever happens.
    /// - Returns: frames to send now.
    mutating func ask(_ request: AdminRequest, now: Duration, _ completion: @escaping Completion) -> [[UInt8]] {
        if case .ended(let failure) = state {
            completion(.failure(failure))
            return []
        }
        lastID += 1
        var frame: [UInt8] = []
        AdminEncoder.encode(AdminCall(id: .number(lastID), request), into: &frame)
        pending[lastID] = Pending(deadline: now + patience, completion: completion)
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

    mutating func received(_ text: UnsafeRawBufferPointer) {
        switch AdminDecoder.decode(serverFrame: text) {
        case .success(.reply(let id, let reply, let next)?): finish(id, .success(Page(reply: reply, next: next)))
        case .success(.refusal(let id, let refusal)?): finish(id, .failure(.refused(refusal)))
        case .success(.error(let id?, let error)?): finish(id, .failure(.notTaken(error)))
        // Nobody's: the server could not read an id, and ours can be read.
        case .success(.error(nil, _)?), .success(nil): break
        case .failure(let failure):
            // An answer of a newer server is better told as that than waited for.
            if let id = failure.id { finish(id, .failure(.notTaken(failure.error))) }
        }
    }

    /// There is no connection any more, or never was one. Only the first call counts.
    mutating func ended(_ failure: AdminFailure) {
        if case .ended = state { return }
        state = .ended(failure)
        let unanswered = pending.sorted { $0.key < $1.key }
        pending = [:]
        for (_, request) in unanswered { request.completion(.failure(failure)) }
    }

    /// When ``lookAtDeadlines(now:)`` is due.
    var nextDeadline: Duration? { pending.values.map(\.deadline).min() }

    mutating func lookAtDeadlines(now: Duration) {
        for (id, request) in pending.sorted(by: { $0.key < $1.key }) where request.deadline <= now {
            pending[id] = nil
            request.completion(.failure(.timedOut))
        }
    }

    private mutating func finish(_ id: RequestID, _ result: Result<Page, AdminFailure>) {
        guard case .number(let number) = id else { return }
        pending.removeValue(forKey: number)?.completion(result)
    }
}
