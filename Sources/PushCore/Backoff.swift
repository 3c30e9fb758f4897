import CallVocabulary

/// Exponential backoff: delays that double with each consecutive failure, with jitter so that retries spread out.
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

    /// Counts a failure.
    /// - Returns: the delay before the next try: `base × 2^(failures before)`, at most `cap`, then ±50 %.
    mutating func failed(random: inout some RandomNumberGenerator) -> Duration {
        // `base` times 2^20 exceeds every cap in use; the bound prevents an overflow.
        let doubled = limits.base * (1 << min(failures, 20))
        failures += 1
        let whole = min(doubled, limits.cap).wholeMilliseconds
        return .milliseconds(Int64.random(in: (whole + 1) / 2...whole + whole / 2, using: &random))
    }
}
