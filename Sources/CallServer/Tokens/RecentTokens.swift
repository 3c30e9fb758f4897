import CallVocabulary

/// Users' tokens that were good, those that came last: at least ``RecentTokens/kept`` of them, at most twice as many.
struct RecentTokens: Redacted {
    typealias Verified = TokenAuthority.Verified

    static let kept = 2048

    private var newer: [String: Verified] = [:]
    /// What `newer` was until it was full.
    private var older: [String: Verified] = [:]

    /// As it was verified; it may have expired since.
    mutating func find(_ token: String) -> Verified? {
        if let verified = newer[token] { return verified }
        guard let verified = older[token] else { return nil }
        insert(token, verified)
        return verified
    }

    mutating func insert(_ token: String, _ verified: Verified) {
        if newer.count >= Self.kept {
            older = newer
            newer.removeAll(keepingCapacity: true)
        }
        newer[token] = verified
    }
}
