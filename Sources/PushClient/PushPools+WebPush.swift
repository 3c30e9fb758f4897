import CallVocabulary
import PushCore
import PushVocabulary

/// The pools of Web Push: one for each push service, made when it is first pushed to.
extension PushPools {
    var webPushPools: [PushPool] { all.filter { $0.endpoint.provider == .webpush } }

    /// Pushes in the pools of all push services.
    var webPushLoad: Int {
        all.reduce(0) { $1.endpoint.provider == .webpush ? $0 + $1.load : $0 }
    }

    /// The pools of push services that may be inventions of devices.
    var unprovenPools: [PushPool] { webPushPools.filter(\.isUnproven) }

    func webPushDestination(of token: PushToken) throws(NoWay) -> Destination {
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
        if let present { return .pool(present) }
        guard let route = webPush.route(host: subscription.host, port: subscription.port) else {
            throw NoWay(reason: webPush.problem(of: subscription) ?? "its push service is not in push.webpush.hosts")
        }
        return .service(route)
    }

    /// Closes an idle pool when there are as many as there may be: first one whose service never accepted a push, else
    /// the least recently used. Devices choose the names below a `*`, so new ones never displace the pools of known
    /// hosts, and few are tried at a time: for one user no more than are left for the others. An idle pool has no
    /// outcome to tell when it closes.
    mutating func makeRoom(for route: PushRoute, of user: Handle) throws(NoWay) {
        let pools = webPushPools
        let unproven = pools.filter(\.isUnproven)
        let tried = unproven.filter { !$0.isIdle }
        guard
            route.isKnown
                || tried.count(where: { $0.opener == user }) < WebPushEndpoint.mostUnproven - tried.count
        else { throw NoWay(reason: Self.tooManyServices) }
        let evicted: PushPool?
        if !route.isKnown, unproven.count >= WebPushEndpoint.mostUnproven {
            evicted = leastRecentlyUsed(unproven)
        } else if pools.count >= WebPushEndpoint.mostOrigins {
            evicted =
                leastRecentlyUsed(unproven) ?? leastRecentlyUsed(pools.filter { !$0.endpoint.isKnown })
                ?? (route.isKnown ? leastRecentlyUsed(pools) : nil)
        } else {
            return
        }
        guard let evicted else {
            throw NoWay(reason: Self.tooManyServices)
        }
        remove(evicted)
        remember(evicted)
        evicted.close()
    }

    private static let tooManyServices = "pushes wait for as many push services as are tried at a time"

    private func leastRecentlyUsed(_ pools: [PushPool]) -> PushPool? {
        pools.filter(\.isIdle).min { $0.lastUse < $1.lastUse }
    }

    mutating func remember(_ pool: PushPool) {
        guard pool.endpoint.provider == .webpush else { return }
        let name = pool.endpoint.credentialName
        let statistics = pool.statistics
        guard var sum = closed[name] else { return closed[name] = statistics }
        sum.count(statistics)
        closed[name] = sum
    }

    /// One for each pool; those of push services are summed by entry of `push.webpush.hosts`, because devices choose them.
    var statistics: [PushStatistics.Pool] {
        var statistics = all.filter { $0.endpoint.provider != .webpush }.map(\.statistics)
        let pools = webPushPools
        var names = webPush?.endpoint.hosts.map(\.description) ?? []
        for pool in pools where !names.contains(pool.endpoint.credentialName) {
            names.append(pool.endpoint.credentialName)
        }
        for name in names {
            var sum = PushStatistics.Pool(webPush: name)
            if let before = closed[name] { sum.count(before) }
            for pool in pools where pool.endpoint.credentialName == name {
                sum.add(pool.statistics, isTrusted: pool.isTrusted)
            }
            statistics.append(sum)
        }
        return statistics
    }
}
