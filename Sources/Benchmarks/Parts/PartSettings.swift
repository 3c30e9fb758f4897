/// How thoroughly a part is measured.
public struct PartSettings: Sendable {
    /// Everything is measured once a round, one after the other.
    public var rounds: Int
    /// How long each figure, and its reference, is measured in a round. With 0 its work is done once.
    public var seconds: Double

    public init(rounds: Int, seconds: Double) {
        precondition(rounds > 0 && seconds >= 0, "at least one round")
        self.rounds = rounds
        self.seconds = seconds
    }
}
