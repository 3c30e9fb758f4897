import EventLoop
import Glibc
import LibWebSockets
import Synchronization
import TLS

/// A WebSocket listener over several loops: one accepts, the others ("shards") each own their share of the connections.
/// Or over one loop that does both, its own or one that it is given.
public final class WebSocketServer: Sendable {
    /// How a ``WebSocketServer`` listens and what it asks of its clients.
    public struct Configuration: Sendable {
        /// Where to listen; port 0 lets the system choose.
        public var address: SocketAddress
        /// How many loops share the connections.
        public var shards: Int
        /// When set, one loop of this name accepts and serves, in place of an acceptor and `shards` (which is 1 then):
        /// for a listener with few connections, whose thread does not interrupt others (``ThreadScheduling/batch``).
        public var soleLoop: String?
        /// The one path that takes WebSockets.
        public var path = "/v1/signal"
        /// The one subprotocol, which clients have to ask for.
        public var subprotocol = "reveille.v1"
        /// The longest message taken from a client, in bytes; a longer one closes with 3502.
        public var maxFrameBytes = 65536
        /// How much may wait for one client, in bytes; more closes with 3001.
        public var maxQueuedBytes = 1 << 20
        /// How often a client is pinged.
        public var pingInterval = Duration.seconds(25)
        /// How long a client may take to be heard of after a ping; longer closes with 3002.
        public var pingTimeout = Duration.seconds(10)
        /// How long a connection may take from its accept to its whole request or handshake, TLS included, and a message
        /// from its first byte to its last.
        public var requestTimeout = Duration.seconds(10)
        /// How long a request may wait for its answer, and the client may take to read it, together.
        public var answerTimeout = Duration.seconds(30)
        /// How many connections there may be at once over all shards, HTTP included.
        public var maxConnections = 100_000
        /// How many of them one IPv4 address, or one IPv6 network of 64 bits, may have; nil for a quarter. This machine's
        /// and Unix sockets' have no such share.
        public var maxConnectionsPerAddress: Int?
        /// Addresses that have no share either, as those of proxies.
        public var unsharedAddresses: [AddressRange] = []
        /// Whose word is taken for where a client is.
        public var proxies = ProxyTrust.nobody
        /// Paths that are served, by a few connections, also while all others are taken.
        public var reservedPaths: Set<String> = []
        /// Whether a WebSocket is vouched for from its handshake on. Otherwise ``WebSocketConnection/vouch()`` does so, and
        /// until then the connection makes room for others when there is none.
        public var vouchesForAll = true
        /// Is told of connections that there was no room for, now and then, on the acceptor's loop.
        public var onPressure: @Sendable (ConnectionPressure.Report) -> Void = { _ in }
        /// Certificate and key for wss; nil for plain ws.
        public var tls: TLSFiles?
        /// What WebSockets and HTTP requests have to show as `Authorization: Bearer …`; nil lets everybody in.
        public var bearerToken: BearerToken?
        /// The number of each shard's first connection, for a handler that serves more than one server.
        public var firstSerial: UInt64 = 1

        public init(address: SocketAddress, shards: Int = 1) {
            self.address = address
            self.shards = shards
        }
    }

    /// What the server has done since its start. A snapshot: the parts may be some messages apart.
    public struct Statistics: Sendable {
        public var shards: [ShardStatistics]
        /// Connections accepted by the listener.
        public var accepted: UInt64
        /// Connections closed at once because `maxConnections` were there, or because their address had its share.
        public var refused: UInt64
        /// Of those, the latter.
        public var refusedByShare: UInt64
        /// Connections that came when `maxConnections` were there, and were let in for the reserved paths at most.
        public var full: UInt64
        /// Connections that nobody vouched for, and that were cut so that another could come in.
        public var evicted: UInt64
        /// Connections that there may be.
        public var limit: Int
        /// How often accepting had to rest because the process was out of descriptors.
        public var exhausted: UInt64
    }

    /// How many connections beyond `maxConnections` there may be for a moment: for reserved paths, and while others go.
    public static let reserve = 32

    private struct State {
        var maxConnections: Int
        var isStarted = false
        /// Its threads have begun.
        var isRunning = false
        var isStopped = false
        var shards: [LoopBound<Shard>] = []
        var listener: Listener?
        var certificate: TLSCertificate?
    }

    public let configuration: Configuration
    /// The loops of the shards, in order. Those that are its own run from ``start()`` on.
    public let shardLoops: [EventLoop]
    private let acceptorLoop: EventLoop
    /// Whether the loops are the server's own, to be started and stopped with it.
    private let ownsLoops: Bool
    private let counters: [ShardCounters]
    private let makeHandler: @Sendable (_ shard: Int, _ loop: EventLoop) -> any ShardHandler
    private let state: Mutex<State>
    private let shares = AddressShares()
    private let pressure: ConnectionPressure

    /// - Parameter makeHandler: called by ``start()`` once for each shard, on that shard's loop.
    /// - Throws: `SystemError` when the process is out of descriptors.
    public init(
        configuration: Configuration,
        makeHandler: @escaping @Sendable (_ shard: Int, _ loop: EventLoop) -> any ShardHandler
    ) throws {
        precondition(configuration.shards > 0, "a server needs a shard")
        self.configuration = configuration
        self.makeHandler = makeHandler
        state = Mutex(State(maxConnections: configuration.maxConnections))
        pressure = ConnectionPressure(report: configuration.onPressure)
        if let name = configuration.soleLoop {
            precondition(configuration.shards == 1, "one loop has one shard")
            acceptorLoop = try EventLoop(name: name, scheduling: .batch)
            shardLoops = [acceptorLoop]
        } else {
            shardLoops = try (0..<configuration.shards).map { try EventLoop(name: "shard-\($0)") }
            acceptorLoop = try EventLoop(name: "acceptor")
        }
        ownsLoops = true
        counters = shardLoops.map { _ in ShardCounters() }
    }

    /// Accepts and serves on a loop that is there already, such as the sole loop of another server.
    /// - Parameter loop: runs before ``start()`` and stops after ``stop(closeCode:reason:grace:)``, neither of which is
    ///   this server's business.
    public init(
        configuration: Configuration, loop: EventLoop,
        makeHandler: @escaping @Sendable (_ shard: Int, _ loop: EventLoop) -> any ShardHandler
    ) {
        precondition(configuration.shards == 1, "one loop has one shard")
        self.configuration = configuration
        self.makeHandler = makeHandler
        state = Mutex(State(maxConnections: configuration.maxConnections))
        pressure = ConnectionPressure(report: configuration.onPressure)
        acceptorLoop = loop
        shardLoops = [loop]
        ownsLoops = false
        counters = [ShardCounters()]
    }

    /// Starts the threads that are its own, then the shards, then listens. Once in the server's life.
    /// - Returns: the bound address.
    /// - Throws: `SystemError` when it cannot bind (`EADDRINUSE`), ``TLSCertificate/Failure`` for a certificate or key
    ///   that cannot be used, ``LWSError``. Nothing is left running then.
    public func start() async throws -> SocketAddress {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        precondition(isFirst, "a WebSocketServer starts once")
        let certificate = try configuration.tls.map { try TLSCertificate($0) }
        state.withLock { $0.certificate = certificate }
        for loop in loops { loop.start() }
        state.withLock { $0.isRunning = true }
        do {
            let shards = try await startShards(certificate)
            let bounds = ConnectionBounds(
                connections: configuration.maxConnections, reserve: Self.reserve,
                hasReservedPaths: !configuration.reservedPaths.isEmpty,
                connectionsPerAddress: configuration.maxConnectionsPerAddress
                    ?? Self.share(of: configuration.maxConnections), exempt: configuration.unsharedAddresses)
            let listener = Listener(
                loop: acceptorLoop, shards: shards, counters: counters, shares: shares, pressure: pressure,
                bounds: bounds)
            state.withLock { $0.listener = listener }
            return try await listener.start(at: configuration.address)
        } catch {
            await stop(closeCode: 3000, reason: "", grace: .zero)
            throw error
        }
    }

    /// Those that start and stop with the server, each of them once.
    private var loops: [EventLoop] {
        guard ownsLoops else { return [] }
        return configuration.soleLoop == nil ? shardLoops + [acceptorLoop] : shardLoops
    }

    private func startShards(_ certificate: TLSCertificate?) async throws -> [LoopBound<Shard>] {
        var shards: [LoopBound<Shard>] = []
        for (index, loop) in shardLoops.enumerated() {
            let result: Result<LoopBound<Shard>, any Error>? = await loop.run { [self] in
                Result {
                    let shard = try Shard(
                        loop: loop, configuration: configuration, certificate: certificate, counters: counters[index],
                        shares: shares)
                    shard.begin(with: makeHandler(index, loop))
                    return LoopBound(shard, on: loop)
                }
            }
            guard let result else { throw SystemError(operation: "start \(loop.name)", errno: ECANCELED) }
            let shard = try result.get()
            shards.append(shard)
            state.withLock { $0.shards.append(shard) }
        }
        return shards
    }

    // MARK: Changes

    /// Handshakes that begin from now on show another certificate; connections that are there go on. Only for a server
    /// that started with one. Returns once every shard has it.
    public func replaceCertificate(with certificate: TLSCertificate) async {
        let shards = state.withLock { state in
            state.certificate = certificate
            return state.shards
        }
        for shard in shards {
            _ = await shard.loop.run { shard.value.replaceCertificate(with: certificate) }
        }
    }

    /// Connections that come from now on have to show another token.
    public func replaceBearerToken(with token: BearerToken) async {
        for shard in state.withLock({ $0.shards }) {
            _ = await shard.loop.run { shard.value.replaceBearerToken(with: token) }
        }
    }

    /// What one address may have of `connections` where nothing else is said.
    public static func share(of connections: Int) -> Int { max(1, connections / 4) }

    /// Counts from the next connection on: those that are there stay, also when they are more.
    /// - Parameters:
    ///   - perAddress: nil for a quarter of `count`.
    ///   - unsharedAddresses: nil for those that are.
    public func setMaxConnections(_ count: Int, perAddress: Int? = nil, unsharedAddresses: [AddressRange]? = nil) {
        precondition(count > 0, "a listener takes at least one connection")
        let listener = state.withLock { state in
            state.maxConnections = count
            return state.listener
        }
        listener?.setBounds { bounds in
            bounds.connections = count
            bounds.connectionsPerAddress = perAddress ?? Self.share(of: count)
            if let unsharedAddresses { bounds.exempt = unsharedAddresses }
        }
    }

    // MARK: The end

    /// Closes the listening socket. Connections go on.
    public func stopAccepting() async {
        await state.withLock { $0.listener }?.stop()
    }

    /// Closes every connection with `code` after what waits for it, and ends the threads that are its own. Only the
    /// first call counts.
    /// - Parameter grace: how long clients have to take what waits and to answer the close; after that they are cut.
    public func stop(closeCode: UInt16, reason: String, grace: Duration) async {
        let shards: [LoopBound<Shard>]? = state.withLock { state in
            // Without its threads there is nothing to stop, and nobody who would carry it out.
            guard state.isRunning, !state.isStopped else { return nil }
            state.isStopped = true
            return state.shards
        }
        guard let shards else { return }
        await stopAccepting()
        await withTaskGroup { group in
            for shard in shards {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        let isAsked = shard.loop.execute {
                            shard.value.stop(code: closeCode, reason: reason, grace: grace) { continuation.resume() }
                        }
                        if !isAsked { continuation.resume() }
                    }
                }
            }
        }
        for loop in loops { await loop.stopAndWait() }
        state.withLock { $0.shards = [] }
    }

    /// Released while it runs, it cuts its connections and ends the threads that are its own.
    deinit {
        let ownsLoops = ownsLoops
        let (shards, listener) = state.withLock { ($0.shards, $0.listener) }
        // A loop that serves as well is stopped below, after its connections.
        listener?.abandon(stoppingLoop: ownsLoops && configuration.soleLoop == nil)
        for shard in shards {
            shard.loop.execute {
                shard.value.stop(code: 3000, reason: "", grace: .zero) {
                    if ownsLoops { shard.loop.stop() }
                }
            }
        }
    }

    /// What handshakes show; nil before the start, and without TLS. Any thread.
    public var certificate: TLSCertificate? { state.withLock { $0.certificate } }

    /// The counters of now. Any thread.
    public var statistics: Statistics {
        let (listener, limit) = state.withLock { ($0.listener, $0.maxConnections) }
        let (full, byShare) = (pressure.count(.full), pressure.count(.share))
        return Statistics(
            shards: counters.map(\.snapshot), accepted: listener?.accepted ?? 0, refused: full + byShare,
            refusedByShare: byShare, full: full, evicted: pressure.count(.eviction), limit: limit,
            exhausted: listener?.exhausted ?? 0)
    }
}
