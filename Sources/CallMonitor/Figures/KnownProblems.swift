import AdminProtocol
import CallVocabulary

/// The problems that the log has, so that it gets a line when one begins and when it ends, and one a day between.
public struct KnownProblems: Sendable {
    /// How often a problem that stays is told again.
    public static let repetition = Duration.seconds(24 * 3600)

    private struct Key: Hashable {
        let code: ServerProblem.Code
        let subject: String?
    }

    private var known: [Key: (problem: ServerProblem, toldAt: Instant)] = [:]

    public init() {}

    /// - Returns: the problems to tell, and those that are over, each in a fixed order.
    public mutating func take(
        _ problems: [ServerProblem], at now: Instant
    ) -> (told: [ServerProblem], over: [ServerProblem]) {
        var present: [Key: (problem: ServerProblem, toldAt: Instant)] = [:]
        var told: [ServerProblem] = []
        for problem in problems {
            let key = Key(code: problem.code, subject: problem.subject)
            guard present[key] == nil else { continue }
            if let before = known[key], now - before.toldAt < Self.repetition {
                present[key] = (problem, before.toldAt)
            } else {
                present[key] = (problem, now)
                told.append(problem)
            }
        }
        let over = known.filter { present[$0.key] == nil }.map { $0.value.problem }
        known = present
        return (
            told, over.sorted { ($0.code.rawValue, $0.subject ?? "") < ($1.code.rawValue, $1.subject ?? "") }
        )
    }
}
