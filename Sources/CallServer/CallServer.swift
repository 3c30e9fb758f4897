import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Logging
import PushClient
import Synchronization
import WebSocketServer

/// A running server: acceptor and shards, the core, the store, the push client, the admin API, each on its own thread. With
/// one shard, that of a machine with few processors, the push client is on the core's; so are, without TLS, the shard and
/// the acceptor.
///
/// ```
/// acceptor ──fd──▶ shards ──inputs──▶ core ──rows──▶ store
///                    ▲                                 │ committed
///                    └───frames────────────────────────┤
///                                push ◀──orders────────┘
/// ```
public final class CallServer: Sendable {
    public static let version = "0.1.0"

    /// How long clients have to take what waits for them and to answer the close when the server stops.
    private static let stopGrace = Duration.seconds(2)

    /// Where clients connect: with the port that was chosen for port 0.
    public let address: SocketAddress
    /// Where the admin API listens on TCP, likewise; nil when it does not.
    public var adminAddress: SocketAddress? { admin.address }
    let parts: ServerParts
    let webSockets: WebSocketServer
    let admin: AdminService
    /// In order.
    let shards: [Mailbox<ShardMessage>]

    private init(
        address: SocketAddress, parts: ServerParts, webSockets: WebSocketServer, admin: AdminService,
        shards: [Mailbox<ShardMessage>]
    ) {
        self.address = address
        self.parts = parts
        self.webSockets = webSockets
        self.admin = admin
        self.shards = shards
    }

    var listenerCertificates: ListenerCertificates {
        ListenerCertificates(webSockets: webSockets, admin: admin, clock: parts.clock)
    }

    /// Bringing an older store up to date takes its time, of which the log tells.
    private static func openStore(_ data: DataFolder, _ log: Logger) throws(StoreFailure) -> CallStore {
        var old: String?
        let store = try CallStore.open(folder: data.path) { version, current in
            old = version
            log.notice(
                "the store is being brought up to date, half a minute for a million calls",
                metadata: ["from": "\(version)", "to": "\(current)"])
        }
        if let old { log.notice("the store is up to date", metadata: ["from": "\(old)"]) }
        return store
    }

    /// Opens the store, takes up what the last process left, and listens.
    ///
    /// - Throws: `DataFolder.Failure`, `StoreFailure`, `SystemError` (a port that is taken), `PushConfigurationError`,
    ///   `TLSCertificate.Failure` or ``ServerConfigurationError``; nothing is left running then.
    public static func start(_ configuration: ServerConfiguration, log: Logger) async throws -> CallServer {
        try configuration.data.prepare()
        let adminSocket = try configuration.data.adminSocket()
        let tokens = try await TokenAuthority(folder: configuration.data)
        let store = try openStore(configuration.data, log)
        let recovered = try store.recover(timers: configuration.timers)
        let reader = try StoreReader.open(folder: configuration.data.path)
        let committer = try GroupCommitter(store: store) { failure in
            if let failure {
                log.error("commits fail; nothing new is acknowledged", metadata: ["error": "\(failure)"])
            } else {
                log.notice("commits are done again")
            }
        }
        let parts: ServerParts
        do {
            parts = try await ServerParts.start(configuration, tokens, committer, reader, log)
        } catch {
            await committer.close()
            reader.close()
            throw error
        }
        do {
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
            let admin: AdminService
            var reads: AdminReads?
            do {
                let made = try AdminReads(
                    store: try StoreReader.open(folder: configuration.data.path),
                    settle: { [committer = parts.committer] in committer.settle($0) }, clock: parts.clock, log: log)
                reads = made
                admin = try await AdminService.start(
                    at: adminSocket, listener: configuration.admin,
                    environment: AdminShard.Environment(
                        core: parts.core.inbox, reads: made, hooks: configuration.adminHooks,
                        figures: StatsReport(
                            webSockets: webSockets, parts: parts, address: address, configuration: configuration
                        ).sources,
                        clock: parts.clock, log: log, feedCapacity: configuration.monitorCapacity))
                admin.begin(with: recovered)
            } catch {
                await reads?.stop()
                await webSockets.stop(closeCode: CloseCode.shutdown.rawValue, reason: "", grace: .zero)
                throw error
            }
            let outputs = CoreOutputs(
                shards: mailboxes.inOrder, push: parts.push, storedCalls: parts.storedCalls, admin: admin.mailbox,
                feed: admin.feed, log: log)
            await parts.core.run(configuration, parts.clock, recovered, parts.committer, outputs, log)
            parts.listStoredCalls()
            let server = CallServer(
                address: address, parts: parts, webSockets: webSockets, admin: admin, shards: mailboxes.inOrder)
            var retention = configuration.retention
            retention.missedPerUser = configuration.limits.missedPerUser
            parts.committer.startRetention(retention) { [clock = parts.clock] in clock.now() }
            parts.routes.attach(
                MetricsReport(
                    webSockets: webSockets, parts: parts, shards: mailboxes.inOrder, configuration: configuration,
                    certificates: server.listenerCertificates,
                    monitor: { await admin.liveFigures() }
                ).sources)
            parts.watch(server.listenerCertificates)
            log.info(
                "listening",
                metadata: [
                    "address": "\(address)", "data": "\(configuration.data.path)", "shards": "\(configuration.shards)",
                    "live_calls_recovered": "\(recovered.calls.count { $0.state.isLive })",
                ])
            return server
        } catch {
            await parts.stop()
            throw error
        }
    }

    /// A token for a user's session, signed with this server's own secret.
    public func mintToken(user: Handle, lifetime: Duration, name: String? = nil) async throws -> String {
        try await parts.tokens.mint(user: user, lifetime: lifetime, name: name)
    }

    /// From now on no new call is taken, and readiness says so; those that are live go on.
    /// - Parameter time: within which the server means to be gone; what clients are told.
    public func drain(within time: Duration) {
        parts.core.inbox.postAlways(.drainingBegan(within: time))
    }

    /// Stops: takes nothing more in, commits and sends what was decided, tells every client to come back (close code
    /// 3000), and ends the threads. Live calls stay in the store for the next start.
    public func stop() async {
        await webSockets.stopAccepting()
        // First, so that the sockets closed below wake no phone for calls that only wait for the next start.
        await parts.core.rest()
        await parts.committer.flush()
        // The last lines of calls.
        _ = await admin.liveFigures()
        async let adminStop: Void = admin.stop(grace: Self.stopGrace)
        await webSockets.stop(
            closeCode: CloseCode.shutdown.rawValue, reason: CloseCode.shutdown.explanation, grace: Self.stopGrace)
        await adminStop
        await parts.stop()
        parts.log.info("stopped")
    }
}

/// The shards' mailboxes, gathered while the listener makes its shards.
private final class ShardMailboxes: Sendable {
    /// Frames that may wait for a shard at most.
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
        listener.maxConnections = maxConnections
        listener.tls = tls
        return listener
    }

    /// `time` is set when it is sent.
    var welcome: Welcome {
        Welcome(
            protocolVersion: 1, server: "reveille", version: CallServer.version, node: node,
            time: Instant(milliseconds: 0), pingInterval: listener.pingInterval,
            maxFrameBytes: listener.maxFrameBytes, features: ["resume", "wake_token", "groups", "http"])
    }
}
