import AdminServer
import CallCore
import CallVocabulary
import EventLoop
import LibWebSockets
import Logging
import PostgresStore
import PushClient
import StoreInterface
import Synchronization
import WebSocketServer
import WebhookClient

/// A running server: acceptor, shards, core, store, push client and admin API, each on a thread of its own. With one
/// shard, as on a machine with few processors, the push client shares the core's thread; without TLS the shard and the
/// acceptor share it too.
///
/// ```
/// acceptor ──fd──▶ shards ──inputs──▶ core ──rows──▶ store
///                    ▲                                 │ committed
///                    └───frames────────────────────────┤
///                                push ◀──orders────────┘
/// ```
public final class CallServer: Sendable {
    public static let version = "0.1.0"
    /// Of requests to other servers.
    static let userAgent = "reveille/\(version)"

    /// At a stop, how long clients have to read their queued frames and answer the close frame.
    private static let stopGrace = Duration.seconds(2)
    /// How long a home that hands over waits for the outcomes of pushes that are under way. Without one the next home
    /// takes the outcome for unknown.
    private static let handoverGrace = Duration.milliseconds(250)

    /// The clients' address, with the port chosen for port 0.
    public let address: SocketAddress
    /// The admin API's TCP address, likewise; nil without a TCP listener.
    public var adminAddress: SocketAddress? { admin.address }
    /// The metrics listener's address, likewise; nil without one.
    public var metricsAddress: SocketAddress? { metrics?.address }
    /// The address of the softphone's page with the secret for signing in by name; nil when nobody signs in by name.
    public var signInPage: String? {
        let scheme = webSockets.certificate == nil ? "http" : "https"
        return parts.signInSecret.map { "\(scheme)://\(address)/phone/#secret=\($0)" }
    }
    let parts: ServerParts
    let webSockets: WebSocketServer
    let admin: AdminService
    let metrics: MetricsListener?
    /// The mailboxes of the shards, by index.
    let shards: [Mailbox<ShardMessage>]
    private let listing: Task<Void, Never>
    private let watching: Task<Void, Never>

    private init(
        address: SocketAddress, parts: ServerParts, webSockets: WebSocketServer, admin: AdminService,
        metrics: MetricsListener?, shards: [Mailbox<ShardMessage>], listing: Task<Void, Never>,
        watching: Task<Void, Never>
    ) {
        self.address = address
        self.parts = parts
        self.webSockets = webSockets
        self.admin = admin
        self.metrics = metrics
        self.shards = shards
        self.listing = listing
        self.watching = watching
    }

    /// Opens the store, recovers the state of the last process, and starts listening.
    ///
    /// - Parameter clocks: the machine's clocks, or a test's.
    /// - Throws: `DataFolder.Failure`, `StoreFailure`, `SystemError` (such as a port in use), `PushConfigurationError`,
    ///   `TLSCertificate.Failure` or ``ServerConfigurationError``; nothing is left running then.
    public static func start(
        _ configuration: ServerConfiguration, clocks: ClockSources = .system, log: Logger
    ) async throws -> CallServer {
        try await start(configuration, clocks, log, isTakeOver: false)
    }

    /// - Parameter isTakeOver: whether the process stood by before. Then files that differ from the realm's secrets are
    ///   moved aside, and the start does not fail.
    static func start(
        _ configuration: ServerConfiguration, _ clocks: ClockSources, _ log: Logger, isTakeOver: Bool
    ) async throws -> CallServer {
        try configuration.data.prepare()
        let adminSocket = try configuration.data.adminSocket()
        let store = try await ServerStore.open(configuration, log: log)
        configuration.data.note(database: configuration.database, log)
        let parts: ServerParts
        do {
            let clock: ServerClock
            var shared: [BackendToken] = []
            if let database = configuration.database, let homeLease = store.homeLease {
                let secrets = SharedSecrets(database, configuration.data)
                for file in isTakeOver ? try secrets.setAsideOthers() : [] {
                    log.warning("a secret that is not the realm's was moved aside", metadata: ["file": .string(file)])
                }
                try secrets.provide(hasWebPush: configuration.push.webPush != nil)
                shared = try secrets.backendTokens()
                try secrets.takeTokenKeys()
                // What is stored are times of the database's clock, whichever server was the home.
                clock = ServerClock(clocks.following { [term = homeLease.term] in term.clockOrigin })
            } else {
                let anchor = ClockAnchor(in: configuration.data, of: clocks) { log.error("\($0)") }
                clock = ServerClock(clocks, anchor: anchor)
            }
            let missing = TokenAuthority.missingSecrets(of: configuration.data, configuration.tokens)
            let tokens = try await TokenAuthority(
                folder: configuration.data, clock: clock, tokens: configuration.tokens)
            if !missing.isEmpty, await store.hasUsers { for secret in missing { secret.tell(log) } }
            for exposure in configuration.data.exposures() { log.warning("\(exposure)") }
            parts = try await ServerParts.start(configuration, clock, tokens, store, log)
            parts.backends.tokens.replaceShared(with: shared)
        } catch {
            await store.close()
            throw error
        }
        do {
            return try await start(configuration, parts, adminSocket, log)
        } catch {
            await parts.stop()
            throw error
        }
    }

    /// Starts the listeners, then the core.
    private static func start(
        _ configuration: ServerConfiguration, _ parts: ServerParts, _ adminSocket: SocketAddress, _ log: Logger
    ) async throws -> CallServer {
        let recovered = parts.store.recovered
        // Before clients come, who wait for the first fetch then.
        try await parts.tokens.follow(
            configuration.tokens.keysAddress, on: parts.core.loop,
            sharedBy: parts.store.homeLease?.state(RemoteKeySet.file), log: log)
        try await parts.webhooks.start(configuration.webhooks)
        try parts.startPush(configuration)
        let mailboxes = ShardMailboxes()
        let webSockets = try parts.listener(configuration) { index, loop in
            let shard = SignalShard(environment: parts.environment(configuration, index, loop))
            mailboxes.add(
                Mailbox(loop: loop, capacity: ShardMailboxes.capacity) { [weak shard] in shard?.receive(&$0) },
                at: index)
            return shard
        }
        let address = try await webSockets.start()
        let metrics: MetricsListener?
        let admin: AdminService
        do {
            metrics = try await startMetrics(configuration, parts)
            admin = try await startAdmin(
                configuration, parts, at: adminSocket,
                StatsReport(
                    webSockets: webSockets, parts: parts, address: address, metrics: metrics?.url,
                    configuration: configuration), metrics)
            admin.begin(with: recovered)
            parts.backends.attach(admin.mailbox)
        } catch {
            await webSockets.stop(closeCode: CloseCode.shutdown.rawValue, reason: "", grace: .zero)
            throw error
        }
        let outputs = CoreOutputs(
            shards: ShardOutlets(mailboxes.inOrder, log: log), push: parts.push,
            webhooks: parts.webhooks, core: parts.core.inbox, lookUps: parts.lookUps, history: parts.history,
            authorization: parts.authorization, admin: admin.mailbox, feed: admin.feed,
            settle: { [log = parts.store.recordLog] in log.settle($0) })
        await parts.core.run(configuration, parts.clock, recovered, parts.store.recordLog, outputs, log)
        let certificates = ListenerCertificates(webSockets: webSockets, admin: admin, metrics: metrics)
        let watch = ProblemWatch(
            parts, webSockets, certificates, adminSocket: adminSocket,
            logLinesDropped: configuration.logLinesDropped, logFailure: configuration.logFailure,
            hasRefusedReload: configuration.hasRefusedReload, missingFiles: configuration.missingFiles,
            monitor: { await admin.liveFigures() })
        parts.routes.attach(
            MetricsReport(
                webSockets: webSockets, parts: parts, shards: mailboxes.inOrder, configuration: configuration,
                certificates: certificates, watch: watch, monitor: { await admin.liveFigures() }
            ).sources)
        let server = CallServer(
            address: address, parts: parts, webSockets: webSockets, admin: admin, metrics: metrics,
            shards: mailboxes.inOrder, listing: parts.readInBackground(), watching: Task { await watch.run() })
        var retention = configuration.retention
        retention.missedPerUser = configuration.limits.missedPerUser
        parts.store.recordLog.startMaintenance(retention, now: { [clock = parts.clock] in clock.time() }) { damage in
            log.error("the store is damaged; restore a backup", metadata: ["error": .string("\(damage)")])
        }
        server.noteStart(configuration, adminSocket, recovered, log)
        if let manager = ServiceManager() { await parts.core.tell(manager, parts.store.recordLog) }
        return server
    }

    private static func startMetrics(
        _ configuration: ServerConfiguration, _ parts: ServerParts
    ) async throws -> MetricsListener? {
        guard let listener = configuration.metrics else { return nil }
        return try await MetricsListener.start(listener, routes: parts.routes, log: parts.log)
    }

    /// Starts the admin API; stops `metrics` if that fails.
    private static func startAdmin(
        _ configuration: ServerConfiguration, _ parts: ServerParts, at socket: SocketAddress, _ figures: StatsReport,
        _ metrics: MetricsListener?
    ) async throws -> AdminService {
        do {
            let reads = AdminReads(
                queries: parts.store.adminQueries, settle: { [log = parts.store.recordLog] in log.settle($0) },
                wallTime: { [clock = parts.clock] in clock.time() }, log: parts.log)
            var environment = AdminShard.Environment(
                core: parts.core.inbox, reads: reads, hooks: configuration.adminHooks, figures: figures.sources,
                now: { [clock = parts.clock] in clock.now() }, log: parts.log)
            environment.webhooks = parts.webhooks
            environment.feedCapacity = configuration.monitorCapacity
            environment.address = { [addresses = parts.sessions.addresses] in addresses[$0] }
            environment.isPublic = { [routes = parts.routes] in routes.isPublic(path: $0) }
            environment.answer = { [routes = parts.routes] in routes.answer($0, to: .operator, $1) }
            environment.refused = { [refusals = parts.sessions.refusals, clock = parts.clock] in
                refusals.write(
                    Refusal(kind: .administrator, peer: $0.peer, reason: $0.reason), now: clock.now())
            }
            return try await AdminService.start(
                at: socket, listener: try configuration.admin?.networkListener(), environment: environment)
        } catch let taken as AdminService.SocketTaken {
            await metrics?.stop()
            throw DataFolder.Failure(
                description:
                    "\(taken.socket) is in the way: the server makes its socket there, and only takes the place of a "
                    + "socket that nobody answers; move it elsewhere")
        } catch {
            await metrics?.stop()
            throw error
        }
    }

    /// Warns when pages have subscribed with another VAPID key than this server has now.
    func noteApplicationServerKey() {
        guard let key = parts.push.applicationServerKey else { return }
        do {
            guard try parts.data.noteApplicationServerKey(key) else { return }
            parts.log.warning(
                "the VAPID key has changed: existing subscriptions get no pushes until their pages subscribe again")
        } catch {
            parts.log.warning("\(error)")
        }
    }

    /// Logs the addresses and paths, as the last line of the start.
    private func noteStart(
        _ configuration: ServerConfiguration, _ socket: SocketAddress, _ recovered: RecoveredState, _ log: Logger
    ) {
        noteApplicationServerKey()
        if let signInPage {
            log.notice("who opens this address signs in by name, as any user", metadata: ["url": .string(signInPage)])
        }
        let providers = Set(parts.push.statistics.pools.map(\.name)).sorted()
        log.info(
            "listening",
            metadata: [
                "address": .string("\(address)"), "admin": .string("\(socket)"),
                "connections": .stringConvertible(configuration.maxConnections),
                "data": .string(configuration.data.path),
                "store": .string(configuration.database.map { "\($0)" } ?? "SQLite in the data folder"),
                "live_calls_recovered": .stringConvertible(recovered.calls.count { $0.state.isLive }),
                "metrics": .string(metrics?.url ?? "on the admin socket"),
                "pushes": .string(
                    providers.isEmpty
                        ? "none: calls to devices that are offline end with no_devices; see --apns-key, --webpush-subject and --push-sim"
                        : providers.joined(separator: ", ")),
                "shards": .stringConvertible(configuration.shards),
                "url": .string("\(configuration.tls == nil ? "ws" : "wss")://\(address)/v1/signal"),
            ])
    }

    /// Mints a user token, signed with this server's own secret.
    public func mintToken(user: Handle, lifetime: Duration, name: String? = nil) async throws -> String {
        try await parts.tokens.mint(user: user, lifetime: lifetime, name: name)
    }

    /// Refuses new calls from now on, and fails readiness; live calls continue.
    /// - Parameter time: when the server will stop, as told to clients.
    public func drain(within time: Duration) {
        parts.core.inbox.postAlways(.drainingBegan(within: time))
    }

    /// Returns when this server must not be the realm's home any more; nil when the task is cancelled.
    func termEnd() async -> TermEnd? { await parts.store.homeLease?.termEnd() }

    /// Stops the server: stops accepting input, commits and sends pending output, closes all connections with code
    /// 3000, after which clients reconnect, and ends the threads. Live calls stay in the store for the next start.
    public func stop() async {
        listing.cancel()
        watching.cancel()
        await watching.value
        await webSockets.stopAccepting()
        // The core first: the closing sockets must not cause pushes for calls that wait for the next start.
        await parts.core.rest()
        await parts.store.recordLog.flush()
        // Flushes the last log lines of calls.
        _ = await admin.liveFigures()
        await metrics?.stop()
        if parts.store.homeLease == nil {
            await stopListeners()
            await parts.endWork()
        } else {
            // Another server waits for the lease, and clients for that server. Nor do they wait for a database that is
            // away.
            async let workEnds: Void = parts.endWork(pushGrace: Self.handoverGrace)
            await stopListeners()
            await workEnds
        }
        await parts.endCore()
        parts.log.info("stopped")
    }

    private func stopListeners() async {
        async let adminStop: Void = admin.stop(grace: Self.stopGrace)
        await webSockets.stop(
            closeCode: CloseCode.shutdown.rawValue, reason: CloseCode.shutdown.explanation, grace: Self.stopGrace)
        await adminStop
    }
}

/// Collects the shards' mailboxes while the listener creates its shards.
private final class ShardMailboxes: Sendable {
    /// The most frames that may wait for a shard.
    static let capacity = 1 << 20

    private let mailboxes = Mutex<[Int: Mailbox<ShardMessage>]>([:])

    func add(_ mailbox: Mailbox<ShardMessage>, at index: Int) {
        mailboxes.withLock { $0[index] = mailbox }
    }

    var inOrder: [Mailbox<ShardMessage>] {
        mailboxes.withLock { mailboxes in mailboxes.sorted { $0.key < $1.key }.map(\.value) }
    }
}

extension ServerConfiguration {
    var listener: WebSocketServer.Configuration {
        var listener = WebSocketServer.Configuration(address: address, shards: shards)
        listener.maxConnections = servedConnections
        listener.maxConnectionsPerAddress = maxConnectionsPerAddress
        listener.maxUnreadBytes = Self.unreadBytes(of: maxUnreadBytes, shards: shards)
        listener.reservedPaths = HTTPRoutes.alwaysServed
        listener.refusalForm = { .errorObject(for: $0) }
        listener.vouchesForAll = false
        listener.tls = tls
        listener.proxies = proxies
        listener.origins = origins
        return listener
    }

    /// The limit of unread bytes. It is divided among the shards, and one slow reader must not use up the part of one.
    static func unreadBytes(of bytes: Int, shards: Int) -> Int { max(bytes, shards * (8 << 20)) }

    /// The configured number of connections, or fewer if the process's descriptor limit is lower.
    var servedConnections: Int { Self.served(of: maxConnections) }

    static func served(of connections: Int) -> Int {
        let descriptors = DescriptorLimit.current
        return descriptors == 0 ? connections : min(connections, DescriptorLimit.connections(within: descriptors))
    }

    /// `time` is set when the message is sent.
    var welcome: Welcome {
        Welcome(
            protocolVersion: 1, server: "reveille", version: CallServer.version, node: node,
            time: Instant(milliseconds: 0), pingInterval: listener.pingInterval,
            maxFrameBytes: listener.maxFrameBytes, features: ["resume", "wake_token", "groups", "http"])
    }
}
