/// How much failed, by what it was.
public struct FailureCounts: Equatable, Sendable {
    /// Pieces that were due when nobody was free for them.
    public var notBegun = 0
    /// Pieces that came to nothing.
    public var failed = 0
    /// Pieces that were given up while they were under way, because they did not end or the server was gone.
    public var notOver = 0
    /// Sessions that were lost without being meant to be, each once until it is there again.
    public var sessionsLost = 0
    /// What is neither a piece of work nor a session.
    public var others = 0

    public init() {}

    /// Pieces that have no end to be timed.
    public var pieces: Int { notBegun + failed + notOver }

    mutating func add(_ other: FailureCounts) {
        notBegun += other.notBegun
        failed += other.failed
        notOver += other.notOver
        sessionsLost += other.sessionsLost
        others += other.others
    }

    /// Those that there are, each with its number.
    var words: [String] {
        let isAlone = pieces + sessionsLost == 0
        return [
            notBegun > 0 ? "\(notBegun) not begun" : nil, failed > 0 ? "\(failed) failed" : nil,
            notOver > 0 ? "\(notOver) not over" : nil,
            sessionsLost > 0 ? Self.count(sessionsLost, "session") + " lost" : nil,
            others > 0 ? Self.count(others, isAlone ? "failure" : "other failure") : nil,
        ].compactMap(\.self)
    }

    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
