import CallVocabulary
import PushCore
import PushVocabulary

/// The pools, and the selection of a push's pool. Confined to the push loop.
struct PushPools {
    /// Why no pool can send a push, as text.
    struct NoWay: Error, Equatable {
        let reason: String
    }

    private(set) var all: [PushPool] = []
    /// Advice for missing credentials.
    var hint: String
    /// The push services; nil without Web Push.
    var webPush: WebPushRoutes?
    /// The counters of closed pools, by entry of `push.webpush.hosts`.
    var closed: [String: PushStatistics.Pool] = [:]
    private var uses: UInt64 = 0

    init(hint: String) {
        self.hint = hint
    }

    mutating func add(_ pool: PushPool) { all.append(pool) }
    mutating func remove(_ pool: PushPool) { all.removeAll { $0 === pool } }
    mutating func removeAll() { all = [] }

    /// Notes that a push takes this pool.
    mutating func use(_ pool: PushPool) {
        uses += 1
        pool.lastUse = uses
    }

    /// Removes the pools without a credential that have nothing left to wait for.
    /// - Returns: the removed pools.
    mutating func removeRetired() -> [PushPool] {
        let over = all.filter { $0.isRetired && $0.streamsInFlight == 0 && $0.preparing == 0 }
        if !over.isEmpty { all.removeAll { pool in over.contains { $0 === pool } } }
        for pool in over { remember(pool) }
        return over
    }

    /// The pools with a credential.
    var serving: some Sequence<PushPool> { all.lazy.filter { !$0.isRetired } }

    /// The pool that already holds a push.
    func holding(_ push: PushID) -> PushPool? {
        all.first { $0.contains(push) }
    }

    /// The pool for iPhone alerts that are mapped to FCM.
    var forMappedAlerts: PushPool? { serving.first { $0.endpoint.provider == .fcm } }

    /// Where a push goes: to a pool, or to a push service that has none yet.
    enum Destination {
        case pool(PushPool)
        case service(PushRoute)
    }

    /// The destination of an intent: same provider and environment as its token, with a credential for its topic.
    func destination(of intent: PushIntent) throws(NoWay) -> Destination {
        guard intent.delivery != nil else {
            let kind = "\(intent.token.provider.rawValue)/\(intent.token.kind.rawValue)"
            throw NoWay(reason: "a token of the kind \(kind) carries no \(intent.purpose.rawValue) push")
        }
        return try destination(of: intent.token)
    }

    /// As above, for a push of a kind that its token supports.
    func destination(of token: PushToken) throws(NoWay) -> Destination {
        if token.provider == .webpush { return try webPushDestination(of: token) }
        var covered: Set<String> = []
        var isProviderKnown = false
        for pool in serving where pool.endpoint.provider == token.provider {
            guard token.provider == .fcm || pool.endpoint.environment == token.environment else { continue }
            guard let topics = pool.endpoint.topics else { continue }
            if topics.contains(token.topic) { return .pool(pool) }
            covered.formUnion(topics)
            isProviderKnown = true
        }
        // Without a dedicated credential for the topic, a credential without a topic limit is used.
        let open = serving.first { pool in
            pool.endpoint.provider == token.provider && pool.endpoint.environment == token.environment
                && pool.endpoint.topics == nil
        }
        if let open { return .pool(open) }
        throw NoWay(reason: reason(for: token, covered: covered, isProviderKnown: isProviderKnown))
    }

    func reason(for token: PushToken, covered: Set<String>, isProviderKnown: Bool) -> String {
        let list = covered.sorted().joined(separator: ", ")
        switch (token.provider, isProviderKnown) {
        case (.apns, false): return "no APNs credentials for \(token.environment.rawValue): \(hint)"
        case (.apns, true):
            return "the APNs credentials for \(token.environment.rawValue) cover \(list), not \(token.topic): \(hint)"
        case (.fcm, false): return "no FCM credentials: \(hint)"
        case (.webpush, _): return "no Web Push: \(hint)"
        case (.fcm, true): return "the FCM credentials are for \(list), not \(token.topic): \(hint)"
        }
    }
}
