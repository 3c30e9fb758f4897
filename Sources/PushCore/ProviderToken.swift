import CallVocabulary

/// When the pool's one provider token is signed, used and given up. The token itself is the shell's.
struct ProviderToken: Sendable {
    /// Tells one signed token from the next.
    typealias Generation = Int

    private struct Signed: Sendable {
        let generation: Generation
        let issuedAt: Instant
    }

    private let policy: ProviderTokenPolicy
    private var current: Signed?
    private var signing: Signed?
    private var latest: Signed?

    init(policy: ProviderTokenPolicy) {
        self.policy = policy
    }

    /// The token to send with now, if there is one young enough.
    func usable(now: Instant) -> Generation? {
        guard let current, now - current.issuedAt < policy.longestAge else { return nil }
        return current.generation
    }

    /// Called when a token is needed. Non-nil when one is to be signed now, as issued at the time given.
    mutating func startSigningIfDue(now: Instant) -> (generation: Generation, issuedAt: Instant)? {
        guard signing == nil else { return nil }
        if let current, now - current.issuedAt < policy.refreshAge { return nil }
        if let latest, now - latest.issuedAt < policy.shortestInterval { return nil }
        let next = Signed(generation: (latest?.generation ?? 0) + 1, issuedAt: now)
        signing = next
        return (next.generation, now)
    }

    mutating func signed(_ generation: Generation) {
        guard let done = signing, done.generation == generation else { return }
        current = done
        latest = done
        signing = nil
    }

    mutating func signingFailed(_ generation: Generation) {
        if signing?.generation == generation { signing = nil }
    }

    /// APNs calls the token of `generation` stale.
    /// - Returns: whether a newer one is there, on its way, or may be signed; else the old one stays.
    mutating func giveUp(_ generation: Generation, now: Instant) -> Bool {
        if signing != nil { return true }
        guard let current else { return true }
        if current.generation != generation { return true }
        guard now - current.issuedAt >= policy.shortestInterval else { return false }
        self.current = nil
        return true
    }
}
