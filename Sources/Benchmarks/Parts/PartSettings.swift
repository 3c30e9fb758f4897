import StoreInterface

/// The length of a benchmark.
public struct PartSettings: Sendable {
    /// The rounds, each of which measures every figure once.
    public var rounds: Int
    /// The duration of each figure, and of its reference, in a round. 0 runs the work once.
    public var seconds: Double

    /// For the store: a PostgreSQL database that is measured beside SQLite, in a schema of its own; nil for none.
    public var database: PostgresAddress?

    public init(rounds: Int, seconds: Double) {
        precondition(rounds > 0 && seconds >= 0, "a benchmark needs at least one round")
        self.rounds = rounds
        self.seconds = seconds
    }
}
