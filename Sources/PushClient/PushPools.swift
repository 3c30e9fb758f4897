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

    init(hint: String) {
        self.hint = hint
    }

    mutating func add(_ pool: PushPool) { all.append(pool) }
    mutating func removeAll() { all = [] }

    /// Removes the pools without a credential that have nothing left to wait for.
    /// - Returns: the removed pools.
    mutating func removeRetired() -> [PushPool] {
        let over = all.filter { $0.isRetired && $0.streamsInFlight == 0 && $0.preparing == 0 }
        if !over.isEmpty { all.removeAll { pool in over.contains { $0 === pool } } }
        return over
    }

    /// The pools with a credential.
    private var serving: some Sequence<PushPool> { all.lazy.filter { !$0.isRetired } }

    /// The pool that already holds a push.
    func holding(_ push: PushID) -> PushPool? {
        all.first { $0.contains(push) }
    }

    /// The pool for iPhone alerts that are mapped to FCM.
    var forMappedAlerts: PushPool? { serving.first { $0.endpoint.provider == .fcm } }

    /// The pool for an intent: same provider and environment as its token, with a credential for its topic.
    func pool(for intent: PushIntent) throws(NoWay) -> PushPool {
        guard intent.delivery != nil else {
            let kind = "\(intent.token.provider.rawValue)/\(intent.token.kind.rawValue)"
            throw NoWay(reason: "a token of the kind \(kind) carries no \(intent.purpose.rawValue) push")
        }
        return try pool(for: intent.token)
    }

    /// As above, for a push of a kind that its token supports.
    func pool(for token: PushToken) throws(NoWay) -> PushPool {
        var covered: Set<String> = []
        var isProviderKnown = false
        for pool in serving where pool.endpoint.provider == token.provider {
            guard token.provider == .fcm || pool.endpoint.environment == token.environment else { continue }
            guard let topics = pool.endpoint.topics else { continue }
            if topics.contains(token.topic) { return pool }
            covered.formUnion(topics)
            isProviderKnown = true
        }
        // Without a dedicated credential for the topic, a credential without a topic limit is used.
        let open = serving.first { pool in
            pool.endpoint.provider == token.provider && pool.endpoint.environment == token.environment
                && pool.endpoint.topics == nil
        }
        if let open { return open }
        throw NoWay(reason: reason(for: token, covered: covered, isProviderKnown: isProviderKnown))
    }

    private func reason(for token: PushToken, covered: Set<String>, isProviderKnown: Bool) -> String {
        let list = covered.sorted().joined(separator: ", ")
        switch (token.provider, isProviderKnown) {
        case (.apns, false): return "no APNs credentials for \(token.environment.rawValue): \(hint)"
        case (.apns, true):
            return "the APNs credentials for \(token.environment.rawValue) cover \(list), not \(token.topic): \(hint)"
        case (.fcm, false): return "no FCM credentials: \(hint)"
        case (.webpush, _): return "no Web Push configured: \(hint)"
        case (.fcm, true): return "the FCM credentials are for \(list), not \(token.topic): \(hint)"
        }
    }
}
