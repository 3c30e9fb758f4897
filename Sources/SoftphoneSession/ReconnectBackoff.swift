import CallVocabulary
import Determinism

/// The delay before the next attempt: exponential backoff with full jitter, so that thousands of disconnected phones
/// spread their reconnects.
public struct ReconnectBackoff: Equatable, Sendable {
    /// The bound of the first delay.
    public let base: Duration
    /// The bound of any delay.
    public let ceiling: Duration
    /// Attempts since the last ``reset()``.
    public private(set) var attempts = 0

    public init(base: Duration, ceiling: Duration) {
        precondition(base > .zero && ceiling >= base, "a backoff needs 0 < base ≤ ceiling")
        self.base = base
        self.ceiling = ceiling
    }

    /// The bound of the next delay.
    public var bound: Duration {
        // 2^20 times any sensible base exceeds any sensible ceiling; the limit prevents an overflow.
        min(ceiling, base * (1 << min(attempts, 20)))
    }

    /// Draws a delay between zero and ``bound``, in whole milliseconds.
    public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let longest = bound.wholeMilliseconds
        attempts += 1
        return .milliseconds(Int64.random(in: 0...longest, using: &generator))
    }

    public mutating func reset() { attempts = 0 }
}
