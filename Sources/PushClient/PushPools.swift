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
    /// Makes the pool of a push service.
    let makePool: (PushRoute) -> PushPool
    /// The counters of closed pools, by the entry of the hosts.
    private var closed: [String: PushStatistics.Pool] = [:]

    init(hint: String, makePool: @escaping (PushRoute) -> PushPool) {
        self.hint = hint
        self.makePool = makePool
    }

    mutating func add(_ pool: PushPool) { all.append(pool) }
    mutating func removeAll() { all = [] }

    /// Removes the pools without a credential that have nothing left to wait for.
    /// - Returns: the removed pools.
    mutating func removeRetired() -> [PushPool] {
        let over = all.filter { $0.isRetired && $0.streamsInFlight == 0 && $0.preparing == 0 }
        if !over.isEmpty { all.removeAll { pool in over.contains { $0 === pool } } }
        for pool in over { remember(pool) }
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
    mutating func pool(for intent: PushIntent) throws(NoWay) -> PushPool {
        guard intent.delivery != nil else {
            let kind = "\(intent.token.provider.rawValue)/\(intent.token.kind.rawValue)"
            throw NoWay(reason: "a token of the kind \(kind) carries no \(intent.purpose.rawValue) push")
        }
        return try pool(for: intent.token)
    }

    /// As above, for a push of a kind that its token supports.
    mutating func pool(for token: PushToken) throws(NoWay) -> PushPool {
        if token.provider == .webpush { return try webPushPool(for: token) }
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
        case (.webpush, _): return "no Web Push: \(hint)"
        case (.fcm, true): return "the FCM credentials are for \(list), not \(token.topic): \(hint)"
        }
    }
}

/// The pools of Web Push: one for each push service, made when it is first pushed to.
extension PushPools {
    var webPushPools: [PushPool] { all.filter { $0.endpoint.provider == .webpush } }

    /// Pushes in the pools of all push services.
    var webPushLoad: Int {
        all.reduce(0) { $1.endpoint.provider == .webpush ? $0 + $1.load : $0 }
    }

    private mutating func webPushPool(for token: PushToken) throws(NoWay) -> PushPool {
        guard let webPush else { throw NoWay(reason: reason(for: token, covered: [], isProviderKnown: false)) }
        guard let subscription = token.subscription else {
            throw NoWay(reason: PushRequest.Fault.notASubscription.rawValue)
        }
        guard token.topic == webPush.key.applicationServerKey else {
            throw NoWay(
                reason: "the subscription was made with another key than the server's: the page must subscribe again")
        }
        let present = serving.first {
            $0.endpoint.provider == .webpush && $0.endpoint.host == subscription.host
                && $0.endpoint.port == subscription.port
        }
        if let present { return present }
        guard let route = webPush.route(host: subscription.host, port: subscription.port) else {
            throw NoWay(reason: webPush.problem(of: subscription) ?? "its push service may not be pushed to")
        }
        try makeRoom()
        let pool = makePool(route)
        add(pool)
        return pool
    }

    /// Closes a pool without pushes when there are as many as there may be: one that no push service has accepted
    /// anything from, if there is one, else the oldest.
    private mutating func makeRoom() throws(NoWay) {
        let pools = webPushPools
        guard pools.count >= WebPushEndpoint.mostOrigins else { return }
        let idle = pools.filter(\.isIdle)
        guard let leaver = idle.first(where: { !$0.hasAccepted }) ?? idle.first else {
            throw NoWay(reason: "pushes wait for \(pools.count) push services, and no more can be reached at a time")
        }
        all.removeAll { $0 === leaver }
        remember(leaver)
        leaver.close()
    }

    private mutating func remember(_ pool: PushPool) {
        guard pool.endpoint.provider == .webpush else { return }
        let name = pool.endpoint.credentialName
        let statistics = pool.statistics
        guard var sum = closed[name] else { return closed[name] = statistics }
        sum.count(statistics)
        closed[name] = sum
    }

    /// One for each pool; those of push services are summed by the entry of the hosts, because devices choose them.
    var statistics: [PushStatistics.Pool] {
        var statistics = all.filter { $0.endpoint.provider != .webpush }.map(\.statistics)
        let pools = webPushPools
        var names = webPush?.endpoint.hosts.map(\.description) ?? []
        for pool in pools where !names.contains(pool.endpoint.credentialName) {
            names.append(pool.endpoint.credentialName)
        }
        for name in names {
            let isExact = WebPushHost(name)?.isExact ?? false
            var sum = PushStatistics.Pool(webPush: name)
            if let before = closed[name] { sum.count(before) }
            for pool in pools where pool.endpoint.credentialName == name {
                // A push service that never accepted anything may be an invention of a device.
                sum.add(pool.statistics, isTrusted: isExact || pool.hasAccepted)
            }
            statistics.append(sum)
        }
        return statistics
    }
}
