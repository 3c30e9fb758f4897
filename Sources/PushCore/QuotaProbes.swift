import CallVocabulary

/// The turns of the pushes that probe an account whose quota is only inferred to be used up. Users to whom a push was
/// accepted lately have turns of their own, so that they do not wait for new users, of whom anybody can register many.
/// Memory use is bounded.
struct QuotaProbes: Sendable {
    enum Users: Sendable, CaseIterable {
        /// A push to them was accepted lately, and none was throttled since.
        case proven
        case others
    }

    private struct Turns: Sendable {
        let longestPause: Duration
        /// Users who were throttled since the last acceptance, none of whose devices was throttled before.
        var throttled = 0
        /// No probe is announced before.
        var due = Instant(milliseconds: .min)
        /// Whether the next probe is the newest push rather than the oldest. So none waits for all that came before it.
        var isOfNewest = false

        /// Doubled with every 64 users.
        var pause: Duration { min(QuotaProbes.shortestPause * (1 << min(throttled / 64, 20)), longestPause) }
    }

    /// The most proven users remembered; the least is half as many.
    static let mostProven = 1024
    /// The pause after the first probe.
    private static let shortestPause = Duration.milliseconds(10)
    /// The pause after a turn without a push, for which all waiting pushes were searched.
    private static let idlePause = Duration.milliseconds(100)

    /// The proven users: the current generation, and the one before.
    private var newer: Set<Handle> = []
    private var older: Set<Handle> = []
    private var proven = Turns(longestPause: .seconds(1))
    private var others: Turns

    init(policy: PushPolicy) {
        others = Turns(longestPause: policy.quotaBackoff.cap)
    }

    private subscript(users: Users) -> Turns {
        get {
            switch users {
            case .proven: proven
            case .others: others
            }
        }
        set {
            switch users {
            case .proven: proven = newValue
            case .others: others = newValue
            }
        }
    }

    /// Whether users were throttled since the last acceptance.
    @inline(__always) var hasThrottled: Bool { proven.throttled > 0 || others.throttled > 0 }

    /// When the next probe is due.
    var next: Instant { min(proven.due, others.due) }

    func users(of terms: PushTerms) -> Users {
        guard let user = terms.user, newer.contains(user) || older.contains(user) else { return .others }
        return .proven
    }

    /// Remembers the user of an accepted push.
    mutating func remember(_ user: Handle) {
        guard newer.insert(user).inserted, newer.count >= Self.mostProven / 2 else { return }
        older = newer
        newer = []
    }

    /// A push was accepted: counting starts over.
    mutating func succeeded() {
        proven.throttled = 0
        others.throttled = 0
    }

    /// Handles a throttled push.
    /// - Parameter isFirst: whether no device of the user was throttled before, so that the user counts.
    mutating func throttled(_ terms: PushTerms, isFirst: Bool) {
        if isFirst { self[users(of: terms)].throttled += 1 }
        guard let user = terms.user else { return }
        newer.remove(user)
        older.remove(user)
    }

    /// The account's quota is inferred to be used up from now on.
    mutating func begin(now: Instant) {
        proven.due = now + Self.shortestPause
        others.due = now + Self.shortestPause
    }

    func isDue(_ users: Users, now: Instant) -> Bool { self[users].due <= now }

    func isOfNewest(_ users: Users) -> Bool { self[users].isOfNewest }

    /// Ends a turn.
    /// - Parameter hasPush: whether a push of these users waited.
    mutating func endTurn(of users: Users, hasPush: Bool, now: Instant) {
        var turns = self[users]
        turns.due = now + (hasPush ? turns.pause : Self.idlePause)
        if hasPush { turns.isOfNewest.toggle() }
        self[users] = turns
    }
}
