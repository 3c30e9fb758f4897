import CallVocabulary
import Determinism

/// How long to wait before the next attempt: exponential with full jitter, so that thousands of phones cut off at
/// once do not come back at once.
public struct ReconnectBackoff: Equatable, Sendable {
    /// The first wait is up to this long.
    public let base: Duration
    /// No wait is longer.
    public let ceiling: Duration
    /// Attempts since the last ``reset()``.
    public private(set) var attempts = 0

    public init(base: Duration, ceiling: Duration) {
        precondition(base > .zero && ceiling >= base, "a backoff needs 0 < base ≤ ceiling")
        self.base = base
        self.ceiling = ceiling
    }

    /// The longest that the next wait can be.
    public var bound: Duration {
        // Past 2^20 any sensible base is over any sensible ceiling; the shift stays far from overflow.
        min(ceiling, base * (1 << min(attempts, 20)))
    }

    /// Draws a wait between nothing and ``bound``, in whole milliseconds.
    public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let longest = bound.wholeMilliseconds
        attempts += 1
        return .milliseconds(Int64.random(in: 0...longest, using: &generator))
    }

    public mutating func reset() { attempts = 0 }
}
