import EventLoop
import Glibc
import LibWebSockets
import Synchronization

/// Accepts on one loop, which may be a shard's, and passes each descriptor to the shard with the fewest.
///
/// | connections | a new connection |
/// |---|---|
/// | below the limit | is accepted |
/// | at the limit, some unvouched | is accepted, and the oldest unvouched one is evicted |
/// | at the limit, none unvouched, but one is still arriving or leaving | waits in the kernel |
/// | at the limit, all vouched for | is accepted for the reserved paths only, and the oldest of these is evicted |
/// | at limit and reserve, one can be evicted or is still arriving | waits in the kernel |
/// | at limit and reserve otherwise, or at a limit for its address | is closed at once |
final class Listener: Sendable {
    /// The most descriptors that wait for one shard. Adoption takes about 20 µs each.
    private static let mailboxCapacity = 4096

    /// An accepted descriptor and its admission.
    typealias Accepted = (descriptor: Int32, admission: Admission)

    private struct Target {
        let loop: EventLoop
        let counters: ShardCounters
        let mailbox: Mailbox<Accepted>
        let shard: LoopBound<Shard>

        var held: Int { counters.held.load(ordering: .relaxed) }
    }

    let loop: EventLoop
    private let targets: [Target]
    private let pressure: ConnectionPressure
    private let shares: AddressShares
    private let headerSpan: Duration
    private let onRefusal: @Sendable (HandshakeRefusal) -> Void
    private let bounds: Mutex<ConnectionBounds>
    // Proof for `nonisolated(unsafe)`: touched on `loop` only, which the acceptor checks.
    private nonisolated(unsafe) var acceptor: SocketAcceptor?
    // Proof for `nonisolated(unsafe)`: as for `acceptor`.
    private nonisolated(unsafe) var headers: ProxyHeaders?
    private let acceptedCount = Atomic<UInt64>(0)
    private let headersRefusedCount = Atomic<UInt64>(0)

    init(
        loop: EventLoop, shards: [LoopBound<Shard>], counters: [ShardCounters], shares: AddressShares,
        pressure: ConnectionPressure, bounds: ConnectionBounds, headerSpan: Duration,
        onRefusal: @escaping @Sendable (HandshakeRefusal) -> Void
    ) {
        self.loop = loop
        self.headerSpan = headerSpan
        self.onRefusal = onRefusal
        self.shares = shares
        self.pressure = pressure
        self.bounds = Mutex(bounds)
        targets = zip(shards, counters).map { shard, counters in
            let mailbox = Mailbox<Accepted>(loop: shard.loop, capacity: Self.mailboxCapacity) { accepted in
                shard.value.adopt(accepted)
            }
            return Target(loop: shard.loop, counters: counters, mailbox: mailbox, shard: shard)
        }
    }

    var accepted: UInt64 { acceptedCount.load(ordering: .relaxed) }
    var headersRefused: UInt64 { headersRefusedCount.load(ordering: .relaxed) }

    /// Applies to new connections; existing ones stay. Any thread.
    func setBounds(_ change: (inout ConnectionBounds) -> Void) {
        bounds.withLock { change(&$0) }
    }

    /// - Returns: the bound address.
    /// - Throws: `SystemError`.
    func start(at address: SocketAddress) async throws -> SocketAddress {
        let result: Result<SocketAddress, any Error>? = await loop.run { [self] in
            Result {
                headers = ProxyHeaders(
                    loop: loop, span: headerSpan,
                    onHeader: { [unowned self] in admit($0, from: $1, $2) },
                    onFault: { [unowned self] in refuse($1, from: $0) })
                let acceptor = try SocketAcceptor(
                    loop: loop, address: address, hasRoom: { [unowned self] in hasRoom() },
                    onExhaustion: { [unowned self] in pressure.note(.descriptors, peer: nil) },
                    onAccept: { [unowned self] in place($0) })
                self.acceptor = acceptor
                return acceptor.address
            }
        }
        guard let result else { throw SystemError(operation: "listen on \(address)", errno: ECANCELED) }
        return try result.get()
    }

    func stop() async {
        _ = await loop.run { [self] in
            (acceptor, headers) = (nil, nil)
        }
    }

    /// Closes the socket and, if requested, ends the loop, without waiting.
    func abandon(stoppingLoop: Bool) {
        loop.execute { [self] in (acceptor, headers) = (nil, nil) }
        if stoppingLoop { loop.stop() }
    }

    /// - Returns: false when there is no room, but a connection is being evicted or can be once its shard has it.
    private func hasRoom() -> Bool {
        let (limit, reserve) = bounds.withLock { ($0.connections, $0.reserve) }
        let held = held
        guard held >= limit else { return true }
        let isSettled = targets.allSatisfy { $0.counters.unsettled == 0 }
        guard held >= limit + reserve else { return isSettled || targets.contains { $0.counters.evictable > 0 } }
        return isSettled && !evict()
    }

    private func place(_ descriptor: Int32) {
        acceptedCount.add(1, ordering: .relaxed)
        let proxies = bounds.withLock(\.proxies)
        let peer = PeerAddress(descriptor: descriptor)
        // A proxy's check may be over already.
        guard !peer.isUnknown else {
            close(descriptor)
            return
        }
        if proxies.sendHeaders, proxies.contains(peer), let headers {
            headers.read(descriptor, from: peer)
        } else {
            admit(descriptor, from: peer, nil)
        }
    }

    /// - Parameters:
    ///   - peer: of the socket.
    ///   - header: from a proxy.
    private func admit(_ descriptor: Int32, from peer: PeerAddress, _ header: ProxyHeader?) {
        let bounds = bounds.withLock { $0 }
        let peer = header?.client ?? peer
        let network = peer.limited(behind: bounds.proxies)
        func admission(isReserve: Bool = false) -> Admission {
            Admission(
                peer: peer, network: network, proxies: bounds.proxies.contains(peer) ? bounds.proxies : nil,
                headerBytes: header?.count ?? 0, isReserve: isReserve)
        }
        let total = held
        let isFull = total >= bounds.connections
        let mayEvict = isFull && total < bounds.connections + bounds.reserve
        guard !isFull || mayEvict else { return refuse(descriptor, .full, peer) }
        if let network, let cause = shares.take(network, now: loop.milliseconds) {
            return refuse(descriptor, cause, peer)
        }
        guard isFull else { return hand(descriptor, admission()) }
        let isEvicting = evict()
        let leaving = targets.reduce(0) { $0 + $1.counters.leaving.load(ordering: .relaxed) }
        if isEvicting, total - leaving < bounds.connections {
            pressure.note(.eviction, peer: peer)
            hand(descriptor, admission())
        } else if bounds.hasReservedPaths {
            pressure.note(.full, peer: peer)
            hand(descriptor, admission(isReserve: true))
        } else {
            if let network { shares.giveBack(network) }
            refuse(descriptor, .full, peer)
        }
    }

    private func hand(_ descriptor: Int32, _ admission: Admission) {
        // There is at least one shard.
        let best = targets.min { $0.held < $1.held }!
        // Counted before the shard sees it, because the shard decrements the count.
        best.counters.held.add(1, ordering: .relaxed)
        best.counters.arriving.add(1, ordering: .relaxed)
        guard !best.mailbox.post((descriptor, admission)) else { return }
        best.counters.arriving.subtract(1, ordering: .relaxed)
        best.counters.held.subtract(1, ordering: .relaxed)
        if let network = admission.network { shares.giveBack(network) }
        refuse(descriptor, .full, admission.peer)
    }

    /// Connections of all shards, and those that wait for a header.
    private var held: Int { targets.reduce(headers?.count ?? 0) { $0 + $1.held } }

    private func refuse(_ fault: ProxyHeader.Fault, from proxy: PeerAddress) {
        headersRefusedCount.add(1, ordering: .relaxed)
        onRefusal(HandshakeRefusal(peer: proxy, cause: .proxyHeader(fault)))
    }

    /// Evicts the oldest unvouched connection of the shard with the most of them.
    /// - Returns: false when there is none.
    private func evict() -> Bool {
        let most = targets.max { $0.counters.evictable < $1.counters.evictable }
        guard let most, most.counters.evictable > 0 else { return false }
        most.counters.evicting.add(1, ordering: .relaxed)
        most.counters.leaving.add(1, ordering: .relaxed)
        return most.loop.execute { most.shard.value.evictOldest() }
    }

    private func refuse(_ descriptor: Int32, _ cause: ConnectionPressure.Cause, _ peer: PeerAddress) {
        // Counted before the client sees the close.
        pressure.note(cause, peer: peer)
        close(descriptor)
    }
}

/// The limits on connections of a listener.
struct ConnectionBounds: Sendable {
    var connections: Int
    /// Connections beyond the limit for a short time: during evictions, and for the reserved paths.
    var reserve: Int
    var hasReservedPaths: Bool
    var proxies: TrustedProxies
}

/// The number of connections of each address, and their rate. Any thread.
final class AddressShares: Sendable {
    private struct State {
        /// For one IPv4 address, or one IPv6 /64 network.
        var limit: Int
        /// Of all addresses.
        var total: Int
        var counts: [PeerAddress: Int] = [:]
        var widerCounts: [PeerAddress.WiderNetwork: Int] = [:]

        /// A network has its shares of the limit, up to half of all connections for a /56 and three quarters for a /48.
        func bound(of network: PeerAddress.WiderNetwork) -> Int {
            let most = total / 4 * (network.length == 56 ? 2 : 3)
            return max(limit, limit > most / network.shares ? most : limit * network.shares)
        }
    }

    private let state: Mutex<State>

    private let rate: RateLimiter?

    /// - Parameters:
    ///   - total: the limit of all addresses together.
    ///   - rate: of new connections; nil for any.
    init(limit: Int, of total: Int = .max, rate: RateLimiter? = nil) {
        state = Mutex(State(limit: limit, total: total))
        self.rate = rate
    }

    func setLimit(_ limit: Int, of total: Int) { state.withLock { ($0.limit, $0.total) = (limit, total) } }

    /// Counts one more connection.
    /// - Parameter now: of a monotonic clock, in milliseconds.
    /// - Returns: nil when it is counted; otherwise which limit is reached.
    func take(_ network: PeerAddress, now: UInt64) -> ConnectionPressure.Cause? {
        if rate?.take(networks: network, now: Int64(now)) != nil { return .rate }
        return state.withLock { state in
            let (count, wider) = (state.counts[network] ?? 0, network.widerNetworks)
            guard count < state.limit, wider.allSatisfy({ (state.widerCounts[$0] ?? 0) < state.bound(of: $0) }) else {
                return .share
            }
            state.counts[network] = count + 1
            for network in wider { state.widerCounts[network, default: 0] += 1 }
            return nil
        }
    }

    func giveBack(_ network: PeerAddress) {
        state.withLock { state in
            let count = (state.counts[network] ?? 1) - 1
            state.counts[network] = count == 0 ? nil : count
            for network in network.widerNetworks {
                let count = (state.widerCounts[network] ?? 1) - 1
                state.widerCounts[network] = count == 0 ? nil : count
            }
        }
    }
}
