import CallVocabulary
import Crypto
import SignalProtocol

/// Answers of the hook that count for equal questions: at most twice ``kept``, a few hundred bytes each.
struct RecentAnswers {
    private struct Entry {
        let answer: AuthorizationAnswer
        let end: Instant
    }

    private let kept: Int
    private var newer: [SHA256Digest: Entry] = [:]
    /// The previous `newer`, when it was full.
    private var older: [SHA256Digest: Entry] = [:]

    init(kept: Int = 4096) { self.kept = kept }

    /// All of a question but its call.
    static func key(_ question: AuthorizationHook.Question) -> SHA256Digest {
        SHA256.hash(data: question.body(hasCall: false))
    }

    func find(_ key: SHA256Digest, at now: Instant) -> AuthorizationAnswer? {
        guard let entry = newer[key] ?? older[key], now < entry.end else { return nil }
        return entry.answer
    }

    mutating func insert(_ key: SHA256Digest, _ answer: AuthorizationAnswer, until end: Instant) {
        if newer.count >= kept { (older, newer) = (newer, [:]) }
        newer[key] = Entry(answer: answer, end: end)
    }
}
