import AdminProtocol
import CallVocabulary

/// The problems that the log has, so that it gets a line when one begins and when it ends, one when it is told in other
/// words, and one a day between.
public struct KnownProblems: Sendable {
    /// How often a problem that stays is told again.
    public static let repetition = Duration.seconds(24 * 3600)
    /// The most different words of a problem that are told in this time: what peers say is quoted in them.
    static let mostWords = 8

    private struct Key: Hashable {
        let code: ServerProblem.Code
        let subject: String?
    }

    private struct Known {
        var problem: ServerProblem
        let toldAt: Instant
        /// All words that were told since then, without the digits: those change all the time.
        var words: Set<String>
    }

    private var known: [Key: Known] = [:]

    public init() {}

    /// - Returns: the problems to tell, and those that are over, each in a fixed order.
    public mutating func take(
        _ problems: [ServerProblem], at now: Instant
    ) -> (told: [ServerProblem], over: [ServerProblem]) {
        var present: [Key: Known] = [:]
        var told: [ServerProblem] = []
        for problem in problems {
            let key = Key(code: problem.code, subject: problem.subject)
            let words = problem.words.filter { !$0.isNumber }
            // Several problems may have one key, each with words of its own.
            if var before = present[key] ?? known[key], now - before.toldAt < Self.repetition {
                if present[key] == nil { before.problem = problem }
                if before.words.count < Self.mostWords, before.words.insert(words).inserted { told.append(problem) }
                present[key] = before
            } else {
                present[key] = Known(problem: problem, toldAt: now, words: [words])
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
