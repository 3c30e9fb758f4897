import CallVocabulary

/// Waiting times that double with each failure in a row, spread so that many do not come back together.
public struct Backoff: Sendable {
    public struct Limits: Equatable, Sendable {
        public var base: Duration
        public var cap: Duration

        public init(base: Duration, cap: Duration) {
            self.base = base
            self.cap = cap
        }
    }

    let limits: Limits
    /// Failures since the last success.
    private(set) var failures = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    mutating func succeeded() {
        failures = 0
    }

    /// - Returns: how long to wait now: `base × 2^(failures before)`, at most `cap`, then ±50 %.
    mutating func failed(random: inout some RandomNumberGenerator) -> Duration {
        // 2^20 times any base is beyond every cap in use; the bound keeps the shift from overflowing.
        let doubled = limits.base * (1 << min(failures, 20))
        failures += 1
        let whole = min(doubled, limits.cap).wholeMilliseconds
        return .milliseconds(Int64.random(in: (whole + 1) / 2...whole + whole / 2, using: &random))
    }
}
