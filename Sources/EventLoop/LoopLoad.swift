/// How busy a loop is at one moment. The values are read one by one, and may belong to two successive turns.
public struct LoopLoad: Sendable, Equatable {
    /// How long the present turn has run; zero while the loop waits.
    public var turn: Duration
    /// The duration of the last complete turn.
    public var lastTurn: Duration
    /// The number of complete turns since the loop's start.
    public var turns: UInt64

    public init(turn: Duration, lastTurn: Duration, turns: UInt64) {
        self.turn = turn
        self.lastTurn = lastTurn
        self.turns = turns
    }
}
