import CallVocabulary
import Crypto
import SignalProtocol

/// Answers of the hook that count for equal questions: at most twice ``kept``, a few hundred bytes each. A user's newer
/// answers take at most as much room as is free for those of others.
struct RecentAnswers {
    private struct Entry {
        let answer: AuthorizationAnswer
        let user: Handle
        let end: Instant
    }

    private let kept: Int
    private var newer: [SHA256Digest: Entry] = [:]
    /// The previous `newer`, when it was full.
    private var older: [SHA256Digest: Entry] = [:]
    /// Entries of `newer` by user.
    private var counts: [Handle: Int] = [:]

    init(kept: Int = 4096) { self.kept = kept }

    /// All of a question but its call.
    static func key(_ question: AuthorizationHook.Question) -> SHA256Digest {
        SHA256.hash(data: question.body(hasCall: false))
    }

    func find(_ key: SHA256Digest, at now: Instant) -> AuthorizationAnswer? {
        guard let entry = newer[key] ?? older[key], now < entry.end else { return nil }
        return entry.answer
    }

    mutating func insert(_ key: SHA256Digest, _ answer: AuthorizationAnswer, of user: Handle, until end: Instant) {
        if newer.count >= kept { (older, newer, counts) = (newer, [:], [:]) }
        if newer[key] == nil {
            if counts[user, default: 0] >= kept - newer.count {
                newer = newer.filter { $0.value.user != user }
                counts[user] = 0
            }
            counts[user, default: 0] += 1
        }
        newer[key] = Entry(answer: answer, user: user, end: end)
    }
}
