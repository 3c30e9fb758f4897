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
        /// How many answers it counts as.
        let weight: Int
    }

    private let kept: Int
    private var newer: [SHA256Digest: Entry] = [:]
    /// The previous `newer`, when it was full.
    private var older: [SHA256Digest: Entry] = [:]
    /// The weights of `newer`, in all and by user.
    private var count = 0
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
        if count >= kept { (older, newer, count, counts) = (newer, [:], 0, [:]) }
        let weight = answer.weight
        if newer[key] == nil, counts[user, default: 0] + weight > kept - count {
            newer = newer.filter { $0.value.user != user }
            count -= counts[user, default: 0]
            counts[user] = 0
        }
        // An equal question is of the same user.
        let added = weight - (newer[key]?.weight ?? 0)
        count += added
        counts[user, default: 0] += added
        newer[key] = Entry(answer: answer, user: user, end: end, weight: weight)
    }
}

extension AuthorizationAnswer {
    /// 1, and one more for each kilobyte of callees.
    fileprivate var weight: Int {
        guard case .allowed(let permit) = self, let to = permit.to else { return 1 }
        return 1 + to.wireBytes / 1024
    }
}
