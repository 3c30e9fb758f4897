import CallVocabulary
import PushCore
import PushVocabulary

/// The pools, and which of them a push belongs to. Lives on the push loop.
struct PushPools {
    /// Why there is no way for a push, in words.
    struct NoWay: Error, Equatable {
        let reason: String
    }

    private(set) var all: [PushPool] = []
    /// What to do about missing credentials.
    var hint: String

    init(hint: String) {
        self.hint = hint
    }

    mutating func add(_ pool: PushPool) { all.append(pool) }
    mutating func removeAll() { all = [] }

    /// Lets go of those that have lost their credential and wait for nothing any more.
    /// - Returns: these.
    mutating func removeRetired() -> [PushPool] {
        let over = all.filter { $0.isRetired && $0.streamsInFlight == 0 && $0.preparing == 0 }
        if !over.isEmpty { all.removeAll { pool in over.contains { $0 === pool } } }
        return over
    }

    /// Those that have a credential.
    private var serving: some Sequence<PushPool> { all.lazy.filter { !$0.isRetired } }

    /// The pool that holds a push already.
    func holding(_ push: PushID) -> PushPool? {
        all.first { $0.contains(push) }
    }

    /// The pool through which alerts for iPhones go that are mapped to FCM.
    var forMappedAlerts: PushPool? { serving.first { $0.endpoint.provider == .fcm } }

    /// The pool for an intent: of its token's provider and environment, and with a credential for its topic.
    func pool(for intent: PushIntent) throws(NoWay) -> PushPool {
        guard intent.delivery != nil else {
            let kind = "\(intent.token.provider.rawValue)/\(intent.token.kind.rawValue)"
            throw NoWay(reason: "a token of the kind \(kind) carries no \(intent.purpose.rawValue) push")
        }
        return try pool(for: intent.token)
    }

    /// As above, for a push of a kind that its token carries.
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
        // A credential that is not limited to topics serves what none of the others is for.
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
        case (.fcm, true): return "the FCM credentials are for \(list), not \(token.topic): \(hint)"
        }
    }
}
