/// How much failed, by what it was.
public struct FailureCounts: Equatable, Sendable {
    /// Operations due without a free phone.
    public var notBegun = 0
    /// Operations that failed.
    public var failed = 0
    /// Operations that did not end in time, or when the server was gone.
    public var notOver = 0
    /// Unintended losses of sessions, each once until its phone is back.
    public var sessionsLost = 0
    /// Neither operations nor sessions.
    public var others = 0

    public init() {}

    /// Operations without a latency.
    public var operations: Int { notBegun + failed + notOver }

    mutating func add(_ other: FailureCounts) {
        notBegun += other.notBegun
        failed += other.failed
        notOver += other.notOver
        sessionsLost += other.sessionsLost
        others += other.others
    }

    /// Those that there are, each with its number.
    var words: [String] {
        let isAlone = operations + sessionsLost == 0
        return [
            notBegun > 0 ? "\(notBegun) not begun" : nil, failed > 0 ? "\(failed) failed" : nil,
            notOver > 0 ? "\(notOver) not over" : nil,
            sessionsLost > 0 ? Self.count(sessionsLost, "session") + " lost" : nil,
            others > 0 ? Self.count(others, isAlone ? "failure" : "other failure") : nil,
        ].compactMap(\.self)
    }

    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
