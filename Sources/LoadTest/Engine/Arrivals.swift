import Determinism
import Glibc

/// When the operations of an open loop are due: a Poisson process, drawn from a seed, whose rate grows from zero during
/// the ramp.
struct Arrivals {
    private let rate: Double
    private let ramp: Double
    private var generator: SeededGenerator
    /// The expected number of arrivals until the last one: on this scale a Poisson process of rate 1.
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
