import EventLoop
import Glibc
import LibWebSockets
import Synchronization
import TLS

/// A WebSocket listener on several loops: one accepts, and the others ("shards") each serve a part of the connections.
/// A single loop can do both, the server's own or an existing one.
public final class WebSocketServer: Sendable {
    /// The configuration of a ``WebSocketServer``.
    public struct Configuration: Sendable {
        /// The listening address; the system chooses a port for port 0.
        public var address: SocketAddress
        /// The number of loops that serve connections.
        public var shards: Int
        /// If set, one loop of this name accepts and serves, instead of an acceptor and `shards` (which is 1 then). For
        /// a listener with few connections: its thread does not preempt others (``ThreadScheduling/batch``).
        public var soleLoop: String?
        /// The only path that accepts WebSockets.
        public var path = "/v1/signal"
        /// If set, the answer to each request for a WebSocket.
        public var upgradeRefusal: HTTPResponse?
        /// The only subprotocol, which clients must request.
        public var subprotocol = "reveille.v1"
        /// The longest message from a client, in bytes; a longer one closes the connection with 3502.
        public var maxFrameBytes = 65536
        /// The most bytes queued for one client; more closes the connection with 3001.
        public var maxQueuedBytes = 1 << 20
        /// The most unread bytes of all clients together. Beyond it connections are closed, first those that have read
        /// nothing for the longest time.
        public var maxUnreadBytes = WebSocketServer.standardUnreadBytes
        /// The interval between pings to a client.
        public var pingInterval = Duration.seconds(25)
        /// The longest silence of a client after a ping; then the connection is closed with 3002.
        public var pingTimeout = Duration.seconds(10)
        /// The longest time from accept to a complete request or handshake, including TLS, and from a message's first
        /// byte to its last.
        public var requestTimeout = Duration.seconds(10)
        /// The longest time for the answer to a request and for the client to read it, together.
        public var answerTimeout = Duration.seconds(30)
        /// The most connections at once over all shards, including HTTP.
        public var maxConnections = 100_000
        /// The most connections of one IPv4 address or one IPv6 /64 network; nil for a quarter of `maxConnections`.
        /// Loopback and Unix sockets have no such limit.
        public var maxConnectionsPerAddress: Int?
        /// Limits new connections of an address, as ``maxConnectionsPerAddress`` counts it; nil for any number.
        public var connectRate: RateLimiter?
        /// The proxies whose word for a client's address is taken. They have no such limit themselves.
        public var proxies = TrustedProxies()
        /// The web pages of other servers that may connect and read answers; by default none.
        public var origins = AllowedOrigins.only([])
        /// Paths that the reserve of connections serves when all others are in use.
        public var reservedPaths: Set<String> = []
        /// Turns a refusal by the listener itself, which is plain text, into the form of the handlers' errors.
        public var refusalForm: @Sendable (HTTPResponse) -> HTTPResponse = { $0 }
        /// Whether WebSockets are vouched for from their handshake on. Otherwise, until
        /// ``WebSocketConnection/vouch()``, the connection is evicted when a new one needs room.
        public var vouchesForAll = true
        /// Called on any loop with reports of connections without room, at a limited rate.
        public var onPressure: @Sendable (ConnectionPressure.Report) -> Void = { _ in }
        /// Called on the acceptor's loop for each connection that is closed for its PROXY protocol header.
        public var onRefusal: @Sendable (HandshakeRefusal) -> Void = { _ in }
        /// Called on any loop for each request of a proxy on this machine that is not among the proxies.
        public var onUnlistedProxy: @Sendable () -> Void = {}
        /// Certificate and key for wss; nil for plain ws.
        public var tls: TLSFiles?
        /// The authorities of certificates that clients must show; nil asks for none. Needs `tls`.
        public var clientAuthorities: ClientAuthorities?
        /// The token that WebSockets and HTTP requests must send as `Authorization: Bearer …`; nil accepts all.
        public var bearerToken: BearerToken?
        /// Whether HTTP requests for a path are answered without a token.
        public var isPublic: @Sendable (_ path: String) -> Bool = { _ in false }
        /// Another token that is good, too, and marks its connections: ``WebSocketConnection/isReading``.
        public var readingToken: BearerToken?
        /// The serial number of each shard's first connection, for a handler that serves several servers.
        public var firstSerial: UInt64 = 1

        public init(address: SocketAddress, shards: Int = 1) {
            self.address = address
            self.shards = shards
        }

        fileprivate var connectionsPerAddress: Int {
            maxConnectionsPerAddress ?? WebSocketServer.share(of: maxConnections)
        }
    }

    /// Counters of the server since its start. A snapshot: its parts may be some messages apart.
    public struct Statistics: Sendable {
        public var shards: [ShardStatistics]
        /// Connections accepted by the listener.
        public var accepted: UInt64
        /// Connections closed at once because of `maxConnections` or of a limit for one address.
        public var refused: UInt64
        /// Connections of proxies closed because of an invalid or missing PROXY protocol header.
        public var headersRefused: UInt64
        /// The part of `refused` caused by the limits for one address.
        public var refusedByShare: UInt64
        /// Connections accepted at `maxConnections`, for the reserved paths at most.
        public var full: UInt64
        /// Unvouched connections cut to make room for others.
        public var evicted: UInt64
        /// The present limit on connections.
        public var limit: Int
        /// How often accepting paused because descriptors or memory ran out.
        public var exhausted: UInt64
    }

    /// The default of ``Configuration/maxUnreadBytes``.
    public static let standardUnreadBytes = 256 << 20

    /// The connections permitted beyond `maxConnections` for a short time: for reserved paths, and during evictions.
    public static let reserve = 32

    private struct State {
        var maxConnections: Int
        var isStarted = false
        /// The server's threads have started.
        var isRunning = false
        var isStopped = false
        var shards: [LoopBound<Shard>] = []
        var listener: Listener?
        var certificate: TLSCertificate?
    }

    public let configuration: Configuration
    /// The loops of the shards, in order. The server's own loops run from ``start()`` on.
    public let shardLoops: [EventLoop]
    private let acceptorLoop: EventLoop
    /// Whether the server starts and stops its loops.
    private let ownsLoops: Bool
    private let counters: [ShardCounters]
    private let makeHandler: @Sendable (_ shard: Int, _ loop: EventLoop) -> any ShardHandler
    private let state: Mutex<State>
    private let shares: AddressShares
    private let pressure: ConnectionPressure
    private let unreadLimit: UnreadLimit

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
        shares = AddressShares(
            limit: configuration.connectionsPerAddress, of: configuration.maxConnections,
            rate: configuration.connectRate)
        unreadLimit = UnreadLimit(bytes: configuration.maxUnreadBytes, shards: configuration.shards)
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

    /// Accepts and serves on an existing loop, such as the sole loop of another server.
    /// - Parameter loop: the caller starts it before ``start()`` and stops it after ``stop(closeCode:reason:grace:)``.
    public init(
        configuration: Configuration, loop: EventLoop,
        makeHandler: @escaping @Sendable (_ shard: Int, _ loop: EventLoop) -> any ShardHandler
    ) {
        precondition(configuration.shards == 1, "one loop has one shard")
        self.configuration = configuration
        self.makeHandler = makeHandler
        state = Mutex(State(maxConnections: configuration.maxConnections))
        pressure = ConnectionPressure(report: configuration.onPressure)
        shares = AddressShares(
            limit: configuration.connectionsPerAddress, of: configuration.maxConnections,
            rate: configuration.connectRate)
        unreadLimit = UnreadLimit(bytes: configuration.maxUnreadBytes, shards: configuration.shards)
        acceptorLoop = loop
        shardLoops = [loop]
        ownsLoops = false
        counters = [ShardCounters()]
    }

    /// Starts the server's own threads, then the shards, then listens. Call it once.
    /// - Returns: the bound address.
    /// - Throws: `SystemError` when it cannot bind (`EADDRINUSE`), ``TLSCertificate/Failure`` for an unusable
    ///   certificate or key, but not for an expired one, ``LWSError``. The server is stopped again then.
    public func start() async throws -> SocketAddress {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        precondition(isFirst, "a WebSocketServer starts once")
        let certificate = try configuration.tls.map { try TLSCertificate($0, mayBeExpired: true) }
        state.withLock { $0.certificate = certificate }
        for loop in loops { loop.start() }
        state.withLock { $0.isRunning = true }
        do {
            let shards = try await startShards(certificate)
            let bounds = ConnectionBounds(
                connections: configuration.maxConnections, reserve: Self.reserve,
                hasReservedPaths: !configuration.reservedPaths.isEmpty, proxies: configuration.proxies)
            let listener = Listener(
                loop: acceptorLoop, shards: shards, counters: counters, shares: shares, pressure: pressure,
                bounds: bounds, headerSpan: configuration.requestTimeout, onRefusal: configuration.onRefusal)
            state.withLock { $0.listener = listener }
            return try await listener.start(at: configuration.address)
        } catch {
            await stop(closeCode: 3000, reason: "", grace: .zero)
            throw error
        }
    }

    /// The loops that the server starts and stops, each once.
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
                        shares: shares, pressure: pressure, unreadLimit: unreadLimit)
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

    /// Uses another certificate for new handshakes; existing connections continue. Only for a server that started with
    /// one. Returns once every shard has it.
    public func replaceCertificate(with certificate: TLSCertificate) async {
        let shards = state.withLock { state in
            state.certificate = certificate
            return state.shards
        }
        for shard in shards {
            _ = await shard.loop.run { shard.value.replaceCertificate(with: certificate) }
        }
    }

    /// Requires another token, and closes the connections of tokens that are gone with 3500.
    /// - Parameter reading: see ``Configuration/readingToken``.
    public func replaceBearerToken(with token: BearerToken, reading: BearerToken?) async {
        for shard in state.withLock({ $0.shards }) {
            _ = await shard.loop.run { shard.value.replaceBearerToken(with: token, reading: reading) }
        }
    }

    /// The default limit for one address.
    public static func share(of connections: Int) -> Int { max(1, connections / 4) }

    /// Sets the limit for new connections; existing connections stay, even above it.
    /// - Parameters:
    ///   - perAddress: nil for a quarter of `count`.
    ///   - proxies: nil keeps the present ones.
    public func setMaxConnections(_ count: Int, perAddress: Int? = nil, proxies: TrustedProxies? = nil) {
        precondition(count > 0, "a listener takes at least one connection")
        let listener = state.withLock { state in
            state.maxConnections = count
            return state.listener
        }
        shares.setLimit(perAddress ?? Self.share(of: count), of: count)
        listener?.setBounds { bounds in
            bounds.connections = count
            if let proxies { bounds.proxies = proxies }
        }
    }

    /// Sets ``Configuration/maxUnreadBytes``.
    public func setMaxUnreadBytes(_ count: Int) { unreadLimit.set(count) }

    // MARK: Stop

    /// Closes the listening socket. Connections continue.
    public func stopAccepting() async {
        await state.withLock { $0.listener }?.stop()
    }

    /// Sends queued messages, closes every connection with `code`, and ends the server's own threads. Only the first
    /// call has an effect.
    /// - Parameter grace: the time for clients to read queued messages and to answer the close; then they are cut.
    public func stop(closeCode: UInt16, reason: String, grace: Duration) async {
        let shards: [LoopBound<Shard>]? = state.withLock { state in
            // Without its threads there is nothing to stop.
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

    /// Cuts the connections and ends the server's own threads, if the server still runs.
    deinit {
        let ownsLoops = ownsLoops
        let (shards, listener) = state.withLock { ($0.shards, $0.listener) }
        // A loop that also serves is stopped below, after its connections.
        listener?.abandon(stoppingLoop: ownsLoops && configuration.soleLoop == nil)
        for shard in shards {
            shard.loop.execute {
                shard.value.stop(code: 3000, reason: "", grace: .zero) {
                    if ownsLoops { shard.loop.stop() }
                }
            }
        }
    }

    /// The certificate for handshakes; nil before the start, and without TLS. Any thread.
    public var certificate: TLSCertificate? { state.withLock { $0.certificate } }

    /// The present counters. Any thread.
    public var statistics: Statistics {
        let (listener, limit) = state.withLock { ($0.listener, $0.maxConnections) }
        let (full, byShare) = (pressure.count(.full), pressure.count(.share) + pressure.count(.rate))
        return Statistics(
            shards: counters.map(\.snapshot), accepted: listener?.accepted ?? 0, refused: full + byShare,
            headersRefused: listener?.headersRefused ?? 0, refusedByShare: byShare, full: full,
            evicted: pressure.count(.eviction), limit: limit, exhausted: pressure.count(.descriptors))
    }
}
