import CallVocabulary

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

/// SplitMix64: small, and the same for the same seed everywhere, which a replay of a session needs.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
