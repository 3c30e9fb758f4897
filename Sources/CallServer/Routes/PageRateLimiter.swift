/// Limits the pages that one shard serves, so that no flood of requests for them slows calls down: a page costs about
/// 20 µs, so ``perSecond`` pages use 2 % of a core.
///
/// A token bucket. Requests above the rate wait in order; beyond ``mostWaiting`` they are refused.
struct PageRateLimiter<Request> {
    enum Admission: Equatable {
        case now, later, refused
    }

    /// The requests that are no longer waited for are dropped at the next refill.
    private var waiting: [Request] = []
    private var available = PageRates.burst

    /// Whether ``refill(isAwaited:)`` would change nothing.
    var isFull: Bool { available == PageRates.burst }

    mutating func admit(_ request: Request) -> Admission {
        guard available == 0 else {
            available -= 1
            return .now
        }
        guard waiting.count < PageRates.mostWaiting else { return .refused }
        waiting.append(request)
        return .later
    }

    /// To be called every ``PageRates/interval`` unless ``isFull``.
    /// - Parameter isAwaited: false for a request whose connection is gone.
    /// - Returns: the requests to serve now.
    mutating func refill(isAwaited: (Request) -> Bool) -> [Request] {
        available = min(PageRates.burst, available + PageRates.perInterval)
        var (served, seen) = ([Request](), 0)
        for request in waiting {
            guard available > 0 else { break }
            seen += 1
            guard isAwaited(request) else { continue }
            available -= 1
            served.append(request)
        }
        waiting.removeFirst(seen)
        return served
    }
}

/// The rates of ``PageRateLimiter``.
enum PageRates {
    /// As many pages at once: those of some people who open the softphone together.
    static let burst = 200
    static let perSecond = perInterval * 100
    static let interval = Duration.milliseconds(10)
    static let perInterval = 10
    /// Each waiting request holds a connection.
    static let mostWaiting = 2 * perSecond
    /// How long a refused client is to wait.
    static let retryAfter = Duration.seconds(2)
}
