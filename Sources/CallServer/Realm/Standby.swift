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
    /// The clients' first.
    private let listeners: [WebSocketServer]
    private let metrics: MetricsListener?

    /// - Throws: as the listeners and the watch; nothing runs then.
    static func start(
        _ configuration: ServerConfiguration, _ clocks: ClockSources, _ log: Logger
    ) async throws -> Standby {
        guard let database = configuration.database else { preconditionFailure("a realm has a database") }
        let node = configuration.realmNode ?? configuration.ownNode
        configuration.data.note(database: database, log)
        let sight = SightBox(configuration, clocks)
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
                var difference: String?
                do {
                    try secrets.take(kept)
                } catch {
                    // A handover is refused meanwhile.
                    let isMoved = !secrets.others(than: kept).isEmpty
                    difference = "\(error)" + (isMoved ? "; a take-over, when the home fails, moves it aside" : "")
                }
                for problem in sight.look(secrets: difference) { ProblemWatch.tell(problem, log) }
                return sight.hindrance
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

    /// Uses new settings.
    /// - Parameter certificate: the new one of the clients' listener.
    func reload(_ configuration: ServerConfiguration, _ certificate: TLSCertificate?) async {
        sight.use(configuration)
        guard let certificate else { return }
        if let clients = listeners.first, clients.certificate != nil {
            await clients.replaceCertificate(with: certificate)
        }
        if let metrics, metrics.certificate != nil { await metrics.replaceCertificate(with: certificate) }
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

/// The files that a take-over of this process would use, as they were read last.
struct StandbyFiles: Sendable {
    private let certificates: [ServerFacts.Certificate]
    private let unusable: [ServerProblem]
    private let missing: [(setting: String, path: String)]

    /// Blocks on the disk.
    init(of configuration: ServerConfiguration) {
        var unusable: [ServerProblem] = []
        func list(_ place: String, of subject: String, _ read: () throws -> TLSCertificateList?) -> TLSCertificateList?
        {
            do {
                return try read()
            } catch {
                unusable.append(
                    ServerProblem(
                        .reloadRefused, of: subject, isUnready: true,
                        "\(place): \(error): a take-over fails; put the file right and reload"))
                return nil
            }
        }
        func shown(_ listener: String, _ files: TLSFiles?) -> TLSCertificateList? {
            list("the \(listener) listener", of: listener) {
                try files.map { try TLSCertificate($0, mayBeExpired: true).list }
            }
        }
        let admin = configuration.admin
        let found = ListenerCertificates.facts(
            signal: shown("signal", configuration.tls), admin: shown("admin", admin?.tls),
            metrics: shown("metrics", configuration.metrics?.tls),
            authorities: list("admin.client_ca", of: ServerFacts.Certificate.authorities) {
                try admin?.clientAuthorities.map { try ClientAuthorities(file: $0).list }
            })
        certificates = ListenerCertificates.distinct(found)
        self.unusable = unusable
        missing = ProblemWatch.distinct(
            configuration.missingFiles() + TurnConfiguration.missing(configuration.turn?.missingSecret))
    }

    /// - Parameter date: by the system clock.
    func problems(at date: Instant, hasRefusedReload: Bool) -> [ServerProblem] {
        var facts = ServerFacts(now: date, date: date, start: date)
        // A standby has none, and misses none.
        facts.core = ServerFacts.Core()
        facts.certificates = certificates
        facts.missingFiles = missing
        facts.hasRefusedReload = hasRefusedReload
        return unusable + facts.problems
    }
}

/// What a standby has seen last. May be used from any thread.
private final class SightBox: Sendable {
    /// What is known of this process's own folder and files.
    private struct Own {
        var configuration: ServerConfiguration
        var files: StandbyFiles
        /// How the secrets differ from the realm's.
        var secrets: String?
        var told: [ServerProblem] = []
    }

    private let sight = Mutex<RealmSight?>(nil)
    private let own: Mutex<Own>
    private let free = AwaitedValue<Void>()
    private let clocks: ClockSources

    /// Blocks on the disk.
    init(_ configuration: ServerConfiguration, _ clocks: ClockSources) {
        own = Mutex(Own(configuration: configuration, files: StandbyFiles(of: configuration)))
        self.clocks = clocks
    }

    var current: RealmSight? { sight.withLock { $0 } }

    func use(_ configuration: ServerConfiguration) {
        let files = StandbyFiles(of: configuration)
        own.withLock { ($0.configuration, $0.files) = (configuration, files) }
    }

    /// Reads the files again.
    /// - Parameter secrets: how the secrets differ from the realm's; nil if they do not.
    /// - Returns: the problems of this process that have begun.
    func look(secrets: String?) -> [ServerProblem] {
        let files = StandbyFiles(of: own.withLock { $0.configuration })
        own.withLock { ($0.files, $0.secrets) = (files, secrets) }
        let present = ownProblems
        return own.withLock { own in
            defer { own.told = present }
            return present.filter { !own.told.contains($0) }
        }
    }

    /// What is wrong with this process's folder and files.
    private var ownProblems: [ServerProblem] {
        let own = own.withLock { $0 }
        let secrets = own.secrets.map { ServerProblem(.secretsDiffer, isUnready: true, $0) }
        let date = Instant(milliseconds: clocks.wall())
        return [secrets].compactMap { $0 }
            + own.files.problems(at: date, hasRefusedReload: own.configuration.hasRefusedReload())
    }

    /// Why this process should not become the home, for the others of the realm; nil for nothing.
    var hindrance: String? {
        let words = ownProblems.filter { $0.isUnready || $0.code == .filesMissing }.map(\.words)
        return words.isEmpty ? nil : words.joined(separator: "; ")
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
        return ServerProblem.sorted([realm].compactMap { $0 } + ownProblems)
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
