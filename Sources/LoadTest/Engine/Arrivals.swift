import Determinism
import Glibc

/// When the pieces of an open loop are due: a Poisson process, drawn from a seed, whose rate grows from nothing in the
/// ramp and then stays.
struct Arrivals {
    private let rate: Double
    private let ramp: Double
    private var generator: SeededGenerator
    /// How many arrivals are to be expected until the one that came last: a Poisson process of rate 1 on this scale.
    private var expected = 0.0

    /// - Parameters:
    ///   - rate: after the ramp, a second; above 0.
    ///   - ramp: how long it grows, steadily.
    init(rate: Double, ramp: Duration, generator: SeededGenerator) {
        precondition(rate > 0, "nothing would ever arrive")
        self.rate = rate
        self.ramp = ramp.inSeconds
        self.generator = generator
    }

    /// The next one, since the start.
    mutating func next() -> Duration {
        // In (0, 1]: its logarithm is finite.
        let drawn = 1 - Double.random(in: 0..<1, using: &generator)
        expected -= log(drawn)
        let inRamp = rate * ramp / 2
        let seconds = expected < inRamp ? (2 * expected * ramp / rate).squareRoot() : ramp / 2 + expected / rate
        return .nanoseconds(Int64(seconds * 1e9))
    }
}
