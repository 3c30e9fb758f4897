import AdminProtocol
import AdminServer
import CallMonitor
import CallVocabulary
import EventLoop
import LibWebSockets
import Logging
import PostgresStore
import StoreInterface
import Synchronization
import TLS
import WebPages
import WebSocketServer

/// A process that stands by: it watches the realm, and answers health checks on the addresses of the server.
struct Standby: Sendable {
    private static let mostConnections = 1024

    private let watch: StandbyWatch
    private let sight: SightBox
    private let routes: HTTPRoutes
    private let listeners: [WebSocketServer]
    private let metrics: MetricsListener?

    /// - Throws: as the listeners and the watch; nothing runs then.
    static func start(_ configuration: ServerConfiguration, _ log: Logger) async throws -> Standby {
        guard let database = configuration.database else { preconditionFailure("a realm has a database") }
        let node = configuration.realmNode ?? configuration.ownNode
        let sight = SightBox(hasRefusedReload: configuration.hasRefusedReload)
        let routes = HTTPRoutes(version: CallServer.version, pages: .embedded)
        routes.attach(
            HTTPRoutes.Sources(
                problems: { sight.problems }, standsBy: { sight.standsBy },
                metrics: { RealmMetrics.standby(sight.current, sight.problems, node: configuration.node) },
                isHome: { false }))
        var started: [WebSocketServer] = []
        var metrics: MetricsListener?
        do {
            let clients = try listener(configuration.listener, routes, .client)
            started.append(clients)
            let address = try await clients.start()
            log.info("listening for health checks", metadata: ["address": .string("\(address)")])
            metrics = try await configuration.metrics.asyncMap {
                try await MetricsListener.start($0, routes: routes, log: log)
            }
            let socket = WebSocketServer.Configuration(address: try configuration.data.adminSocket())
            let admin = try listener(socket, routes, .operator)
            started.append(admin)
            _ = try await admin.start()
            // Now, not at the take-over.
            _ = try TLSClientContext.webClient.get()
            let secrets = SharedSecrets(database, configuration.data)
            let hasNamesake = Atomic(false)
            let shared = StandbyWatch.Shared(SharedSecrets.files) { kept in
                var problem: String?
                do {
                    try secrets.take(kept)
                } catch {
                    problem = "\(error)" + (secrets.others(than: kept).isEmpty ? "" : "; a take-over moves it aside")
                }
                if sight.note(problem: problem), let problem { log.error("\(problem)") }
                return problem
            } onNamesake: {
                guard !hasNamesake.exchange(true, ordering: .relaxed) else { return }
                log.warning("another server of the realm has this one's name; give each a name of its own with --node")
            }
            let watch = try StandbyWatch(database, node, shared) { seen in
                sight.take(seen)
                note(seen, log)
            }
            return Standby(watch: watch, sight: sight, routes: routes, listeners: started, metrics: metrics)
        } catch {
            for listener in started { await listener.stop(closeCode: 3000, reason: "", grace: .zero) }
            await metrics?.stop()
            throw error
        }
    }

    /// Answers health checks on the clients' address for a while, and refuses everything else.
    static func refuseClients(_ configuration: ServerConfiguration, for time: Duration) async throws {
        let routes = HTTPRoutes(version: CallServer.version, pages: .embedded)
        routes.attach(
            HTTPRoutes.Sources(
                problems: { [] }, standsBy: { "this server is stopping" }, metrics: { "" }, isHome: { false }))
        let clients = try listener(configuration.listener, routes, .client)
        do {
            _ = try await clients.start()
            try await Task.sleep(for: time)
        } catch {
            await clients.stop(closeCode: CloseCode.shutdown.rawValue, reason: "", grace: .zero)
            routes.detach()
            throw error
        }
        await clients.stop(closeCode: CloseCode.shutdown.rawValue, reason: "", grace: .zero)
        routes.detach()
    }

    private static func listener(
        _ configuration: WebSocketServer.Configuration, _ routes: HTTPRoutes, _ audience: HTTPRoutes.Audience
    ) throws -> WebSocketServer {
        var configuration = configuration
        configuration.upgradeRefusal = StandbyHandler.refusal
        configuration.soleLoop = "standby-http"
        configuration.shards = 1
        configuration.maxConnections = min(configuration.maxConnections, mostConnections)
        return try WebSocketServer(configuration: configuration) { _, loop in
            StandbyHandler(routes: routes, audience: audience, loop: loop)
        }
    }

    private static func note(_ sight: RealmSight, _ log: Logger) {
        switch sight {
        case .home(let place): log.info("the realm has a home", metadata: ["home": .string(place)])
        case .free: log.notice("the realm has no home; taking the lease")
        case .unreachable(let failure):
            log.error(
                "this standby cannot read the realm; it tries again",
                metadata: ["error": .string("\(failure)")])
        }
    }

    /// Returns when the lease can be taken, or the task is cancelled.
    func untilFree() async { await sight.untilFree() }

    func stop() async {
        await watch.stop()
        await metrics?.stop()
        for listener in listeners {
            await listener.stop(closeCode: CloseCode.shutdown.rawValue, reason: "", grace: .zero)
        }
        routes.detach()
    }
}

/// What a standby has seen last. May be used from any thread.
private final class SightBox: Sendable {
    private let sight = Mutex<RealmSight?>(nil)
    private let secretsProblem = Mutex<String?>(nil)
    private let free = AwaitedValue<Void>()
    private let hasRefusedReload: @Sendable () -> Bool

    init(hasRefusedReload: @escaping @Sendable () -> Bool) { self.hasRefusedReload = hasRefusedReload }

    var current: RealmSight? { sight.withLock { $0 } }

    /// - Returns: whether it is another one than before.
    func note(problem new: String?) -> Bool {
        secretsProblem.withLock { problem in
            defer { problem = new }
            return problem != new
        }
    }

    /// Why the process is not ready though nothing is wrong; nil while something is.
    var standsBy: String? {
        switch current {
        case nil: "standby: looking for the realm's home"
        case .home(let place)?: "standby: the realm's home is \(place)"
        case .free?, .unreachable?: nil
        }
    }

    var problems: [ServerProblem] {
        let realm: ServerProblem? =
            switch current {
            case nil, .home?: nil
            case .free?:
                ServerProblem(.noHome, isUnready: true, "standby: the realm has no home; taking the lease")
            case .unreachable(let failure)?:
                ServerProblem(.standbyCutOff, isUnready: true, "standby: \(failure)")
            }
        // What is wrong with this node's secrets.
        let secrets = secretsProblem.withLock { $0 }.map { ServerProblem(.secretsDiffer, isUnready: true, $0) }
        let reload = hasRefusedReload() ? ServerProblem.refusedReload : nil
        return [realm, secrets, reload].compactMap { $0 }
    }

    func take(_ new: RealmSight) {
        sight.withLock { $0 = new }
        if new == .free { free.give(()) }
    }

    func untilFree() async { await free.wait() }
}

/// Answers health checks, and refuses everything else. Confined to its loop.
private final class StandbyHandler: ShardHandler {
    /// Never 404: a client that comes through a proxy a moment too early tries again.
    static var refusal: HTTPResponse {
        .refusal(
            SignalError(
                .overloaded(retryAfter: .seconds(1)), "This server stands by; another one serves the realm."))
    }

    private let routes: HTTPRoutes
    private let audience: HTTPRoutes.Audience
    private let loop: EventLoop

    init(routes: HTTPRoutes, audience: HTTPRoutes.Audience, loop: EventLoop) {
        self.routes = routes
        self.audience = audience
        self.loop = loop
    }

    func connectionOpened(_ connection: WebSocketConnection) {
        connection.close(code: CloseCode.shutdown.rawValue, reason: "")
    }

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {}

    func connectionClosed(_ connection: WebSocketConnection) {}

    func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard request.path != "/metrics", !HTTPRoutes.alwaysServed.contains(request.path) else {
            return routes.answer(request, to: audience, LoopBound(responder, on: loop))
        }
        responder.respond(Self.refusal)
    }
}

extension Optional {
    fileprivate func asyncMap<Value>(_ body: (Wrapped) async throws -> Value?) async rethrows -> Value? {
        guard let self else { return nil }
        return try await body(self)
    }
}
