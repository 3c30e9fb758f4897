import CallCore
import CallVocabulary
import EventLoop
import Logging
import PostgresStore
import PushClient
import StoreInterface
import Synchronization
import WebSocketServer
import WebhookClient

/// The parts of a server, without the threads of its listener.
struct ServerParts: Sendable {
    let data: DataFolder
    let clock: ServerClock
    let tokens: TokenAuthority
    let turn: TurnCredentials
    let authorization: AuthorizationHook
    let core: CoreThread
    let store: ServerStore
    let push: PushService
    let webhooks: WebhookService
    let history: HistoryReader
    let lookUps: LookUps
    let unseen: UnseenDevices
    let counters: SignalCounters
    let sessions: SessionRecords
    let rates: RateLimiters
    let routes: HTTPRoutes
    let backends: BackendServices
    /// See ``SignInByName``; nil when it is off.
    let signInSecret: String?
    let log: Logger
    private let sweep: LoopBound<RefusalSweep>

    /// Starts the threads of the core and of the webhooks. The push client is created and not started. A failed start
    /// ends all threads that it started.
    static func start(
        _ configuration: ServerConfiguration, _ clock: ServerClock, _ tokens: TokenAuthority,
        _ store: ServerStore, _ log: Logger
    ) async throws -> Self {
        let core = try await CoreThread.start()
        do {
            return try make(configuration, core, clock, tokens, store, log)
        } catch {
            await core.stop()
            throw error
        }
    }

    /// - Parameter core: the core's thread. After an error the caller ends it.
    private static func make(
        _ configuration: ServerConfiguration, _ core: CoreThread, _ clock: ServerClock, _ tokens: TokenAuthority,
        _ store: ServerStore, _ log: Logger
    ) throws -> Self {
        let push = PushService(
            configuration: try configuration.data.completed(configuration.push), now: { clock.now() },
            wall: { clock.wall($0) },
            mintWakeToken: { try tokens.mintWakeToken(for: $0) }, log: log, maySend: { store.recordLog.mayRelease },
            // Posted unconditionally: the steps of pushes are bounded.
            onEvent: { events in for event in events { core.inbox.postAlways(CoreInput(event)) } })
        let authorization = try AuthorizationHook(
            configuration.authorization, loop: core.loop, clock: clock, log: log,
            // Posted unconditionally: the core bounds the questions.
            answer: { question, answer in core.inbox.postAlways(question.input(answer)) })
        let queries = store.queries
        // A realm has one, and no rotation changes it. Wake tokens are codes of texts that begin otherwise.
        let callSecret = try configuration.data.secret(TokenAuthority.wakeSecretFile)
        let signInSecret =
            configuration.signsInByName ? try SignInByName.secret(in: configuration.data) : nil
        // The last step that can fail, because nothing would end the thread that it starts.
        let webhooks = try webhooks(configuration, clock, store, log)
        let sessions = SessionRecords(log: log)
        let sweep = LoopBound(RefusalSweep(sessions.refusals, clock: clock), on: core.loop)
        core.loop.execute { sweep.value.begin(on: core.loop) }
        let backends = BackendServices(
            tokens: BackendTokens(configuration.backendTokens), callSecret: callSecret
        ) { export in
            // Calls that the core ends from here on end later than this.
            let horizon = clock.time()
            await core.drain()
            await store.recordLog.flush()
            return try await export.response(store.adminQueries, before: horizon, log: log)
        }
        return Self(
            data: configuration.data, clock: clock, tokens: tokens,
            turn: TurnCredentials(configuration.turn, clock: clock),
            authorization: authorization, core: core, store: store, push: push, webhooks: webhooks,
            history: HistoryReader(queries: queries, core: core.inbox),
            lookUps: LookUps(
                search: { [reader = store.lookUps] in try await reader.found($0) }, core: core.inbox, log: log),
            unseen: UnseenDevices(
                age: configuration.timers.deviceAge, core: core.inbox, now: { clock.time() }, log: log
            ) {
                try await queries.unseenUsers(since: $0, after: $1, limit: $2)
            },
            counters: SignalCounters(), sessions: sessions, rates: RateLimiters(configuration.rates),
            routes: HTTPRoutes(version: CallServer.version, pages: configuration.pages), backends: backends,
            signInSecret: signInSecret, log: log, sweep: sweep)
    }

    private static func webhooks(
        _ configuration: ServerConfiguration, _ clock: ServerClock, _ store: ServerStore, _ log: Logger
    ) throws -> WebhookService {
        let folder = configuration.data
        // The next home goes on where this one is.
        let state = store.homeLease?.state("webhooks")
        // The store may have been copied from this folder.
        @Sendable func load() throws -> [UInt8]? {
            if let kept = try state?.read() { return kept }
            return try folder.deliveries()
        }
        @Sendable func save(_ bytes: [UInt8]) throws {
            if let state { try state.write(bytes) } else { try folder.save(deliveries: bytes) }
        }
        return try WebhookService(
            WebhookService.Environment(
                queries: store.queries, now: { clock.now() }, wall: { clock.wall($0) }, wallTime: { clock.wallTime() },
                load: load, save: save,
                place: configuration.database.map { "\($0): webhooks in the table kept" } ?? folder.deliveriesFile,
                userAgent: CallServer.userAgent, log: log))
    }

    /// Reads in the background: for the core the ids of all calls, once, and from time to time the devices that were not
    /// seen for long; the realm's tokens of backends.
    func readInBackground() -> Task<Void, Never> {
        let queries = store.queries
        let listing = CallListing(
            source: CallListing.Source(
                count: { try await queries.callCount() },
                page: { try await queries.callIDs(after: $0, limit: $1) }),
            core: core.inbox, log: log)
        let tokens = store.homeLease?.state(BackendToken.standardFile)
        return Task { [unseen, backends] in
            async let passes: Void = unseen.run()
            async let follows: Void = backends.tokens.follow(tokens)
            await listing.run()
            await passes
            await follows
        }
    }

    /// Starts the push client. With one shard it shares the core's thread, because each push crosses between them
    /// several times.
    func startPush(_ configuration: ServerConfiguration) throws {
        try push.start(on: configuration.shards == 1 ? core.loop : nil)
    }

    /// Creates the clients' listener. One shard without TLS shares the core's thread, so that its inputs wake no other
    /// thread. Otherwise shards and acceptor have their own threads: TLS handshakes, many at once when phones
    /// reconnect, would block the core for a millisecond each.
    func listener(
        _ configuration: ServerConfiguration,
        makeHandler: @escaping @Sendable (_ shard: Int, _ loop: EventLoop) -> any ShardHandler
    ) throws -> WebSocketServer {
        var listener = configuration.listener
        listener.connectRate = rates[.connectsPerAddress]
        listener.onPressure = { [log] in $0.warn(log) }
        listener.onRefusal = { [refusals = sessions.refusals, clock] in
            refusals.write(Refusal($0), now: clock.now())
        }
        let warning = UnlistedProxyWarning()
        listener.onUnlistedProxy = { [log] in warning.tell(log) }
        guard configuration.shards == 1, configuration.tls == nil else {
            return try WebSocketServer(configuration: listener, makeHandler: makeHandler)
        }
        return WebSocketServer(configuration: listener, loop: core.loop, makeHandler: makeHandler)
    }

    func environment(_ configuration: ServerConfiguration, _ shard: Int, _ loop: EventLoop) -> SignalShard.Environment {
        SignalShard.Environment(
            shard: shard, loop: loop, core: core.inbox,
            commitWait: { [log = store.recordLog] in log.waitingSince.map { $0.duration(to: .now) } },
            tokens: tokens, turn: turn, routes: routes, signInSecret: signInSecret,
            backends: backends, clock: clock, welcome: configuration.welcome, limits: configuration.connectionLimits,
            counters: counters, rates: rates, sessions: sessions, push: push, log: log)
    }

    /// Ends what writes and sends, upstream parts first, and closes the store.
    /// - Parameter pushGrace: how long to wait for the outcomes of pushes; nil for the configured time.
    func endWork(pushGrace: Duration? = nil) async {
        await core.rest()
        await tokens.stopFollowing()
        authorization.stop()
        await push.stop(grace: pushGrace)
        // The last outcomes are in the core's inbox, and must be committed.
        await core.drain()
        // It reads events.
        await webhooks.stop()
        await store.close()
    }

    /// Stops all parts.
    func stop() async {
        await endWork()
        await endCore()
    }

    /// Ends the core's thread, after ``endWork(pushGrace:)`` and after the sockets.
    func endCore() async {
        _ = await core.loop.run { [sweep] in sweep.value.stop() }
        await core.stop()
        routes.detach()
        backends.detach()
    }
}

/// Warns once that a proxy of this machine is not listed. Any thread.
private final class UnlistedProxyWarning: Sendable {
    private let isTold = Atomic(false)

    func tell(_ log: Logger) {
        guard !isTold.exchange(true, ordering: .relaxed) else { return }
        log.warning(
            """
            a proxy on this machine sends requests (X-Forwarded-For, Forwarded or Via), and listen.proxies does not list it: \
            no limit counts its clients by their addresses; list 127.0.0.1 and ::1
            """)
    }
}

extension CoreInput {
    init(_ event: PushEvent) {
        switch event {
        case .ready(let push): self = .push(.ready(push))
        case .outcome(let push, let outcome): self = .push(.ended(push, outcome))
        }
    }
}

extension ConnectionPressure.Report {
    /// Logs a line for the operator.
    func warn(_ log: Logger) {
        let words =
            switch cause {
            case .full:
                "the connection limit is reached (limits.connections): new connections get health and metrics only; raise the limit "
                    + "and LimitNOFILE, or add a server"
            case .share:
                "an address reached its connection limit (limits.connections_per_address); if it is a proxy, list "
                    + "it in listen.proxies"
            case .rate:
                "an address opens connections faster than limits.connects_per_address; if it is a proxy, list it in "
                    + "listen.proxies"
            case .eviction:
                "the connection limit is reached (limits.connections): connections without a session are closed, the "
                    + "oldest first"
            case .descriptors:
                "the process is out of file descriptors; raise LimitNOFILE, or lower limits.connections"
            case .unreadable:
                "a proxy's X-Forwarded-For has an entry that is no address, so that its client has no limits by address; "
                    + "configure the proxy, or take it out of listen.proxies"
            case .unforwarded:
                "a proxy of listen.proxies sends no X-Forwarded-For, so that its clients have no limits by address; have it "
                    + "send that (Forwarded is not read), or take it out of listen.proxies"
            }
        var metadata: Logger.Metadata = [
            "address": .string("\(peer)"), "cause": .string(cause.rawValue), "times": .stringConvertible(count),
        ]
        if let detail { metadata["entry"] = .string(detail) }
        log.warning("\(words)", metadata: metadata)
    }
}
