import LibWebSockets
import Synchronization

/// Counts outcomes of sessions, connections and HTTP requests on the clients' port since the start. May be used from
/// any thread.
final class SessionCounters: Sendable {
    /// The HTTP statuses of refusals.
    static let statuses = [400, 401, 403, 404, 405, 409, 411, 413, 422, 429, 431, 500, 503]

    private struct Counts {
        var opens = [UInt64](repeating: 0, count: SessionOutcome.allCases.count)
        var closes = [UInt64](repeating: 0, count: ClosedBy.allCases.count * ClosedCode.all.count)
        var refusals = [UInt64](repeating: 0, count: SessionCounters.statuses.count)
    }

    // One lock for a few additions per session: shards take it only when sessions begin and end.
    private let counts = Mutex(Counts())

    func count(_ outcome: SessionOutcome) {
        // Both indices, here and below: members of their `allCases`.
        let index = SessionOutcome.allCases.firstIndex(of: outcome)!
        counts.withLock { $0.opens[index] += 1 }
    }

    func countClose(by: ClosedBy, code: UInt16?) {
        let index = ClosedBy.allCases.firstIndex(of: by)! * ClosedCode.all.count + ClosedCode.index(code)
        counts.withLock { $0.closes[index] += 1 }
    }

    /// Counts an HTTP response if it is a refusal.
    func countAnswer(_ status: Int) {
        guard let index = Self.statuses.firstIndex(of: status) else { return }
        counts.withLock { $0.refusals[index] += 1 }
    }

    var opens: [(outcome: SessionOutcome, count: UInt64)] {
        Array(zip(SessionOutcome.allCases, counts.withLock(\.opens)))
    }

    var closes: [(by: ClosedBy, code: String, count: UInt64)] {
        let counts = counts.withLock(\.closes)
        return ClosedBy.allCases.enumerated().flatMap { row, by in
            ClosedCode.all.enumerated().map { (by, $0.element, counts[row * ClosedCode.all.count + $0.offset]) }
        }
    }

    var refusals: [(status: Int, count: UInt64)] { Array(zip(Self.statuses, counts.withLock(\.refusals))) }
}
