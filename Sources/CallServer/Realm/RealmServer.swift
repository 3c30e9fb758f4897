import CallVocabulary
import EventLoop
import Foundation
import Logging
import PostgresStore
import PushClient
import StoreInterface

/// A server of a realm that several processes serve: the home while it has the lease, otherwise a standby.
///
/// A standby answers health checks only. When the home's lease ends, or is handed over, one standby takes it, reads
/// the live calls and serves. A home that has lost the lease closes all connections and stands by again.
public actor RealmServer {
    /// After a failed start as the home.
    private static let pause = Duration.seconds(1)
    /// How long a home that was stopped answers health checks before its port closes, while another server becomes the
    /// home. The checks of `haproxy.cfg` fail within half of it. A client that HAProxy sends to a closed port meanwhile
    /// would end up on a server that HAProxy does not know it to be on.
    static let leaving = Duration.seconds(1)

    private var configuration: ServerConfiguration
    private let clocks: ClockSources
    private let log: Logger
    private var running: CallServer?
    /// The last one, which may have ended.
    private var standby: Standby?
    private var serving: Task<Void, Never>?
    private var notifying: Task<Void, Never>?
    /// New settings that came while this process was starting as the home.
    private var missedReload: ServerReload?

    private init(_ configuration: ServerConfiguration, _ clocks: ClockSources, _ log: Logger) {
        self.configuration = configuration
        self.clocks = clocks
        self.log = log
    }

    /// Joins the realm: becomes its home, or a standby when it has one or its database does not answer.
    /// - Throws: as `CallServer.start`; and `DataFolder.Failure` when this folder's secrets are not the realm's.
    public static func start(
        _ configuration: ServerConfiguration, clocks: ClockSources = .system, log: Logger
    ) async throws -> RealmServer {
        guard let database = configuration.database else { preconditionFailure("a realm has a database") }
        let socket = try configuration.data.adminSocket()
        // Before it takes the lease: a home without listeners would serve nobody.
        if (try? socket.probe()) != nil {
            throw DataFolder.Failure(
                description:
                    "a server runs on the data folder \(configuration.data.path); give this one a folder of its own")
        }
        var configuration = configuration
        configuration.realmNode = configuration.ownNode
        let server = RealmServer(configuration, clocks, log)
        var first: CallServer?
        do {
            first = try await server.becomeHome(isTakeOver: false)
            if first == nil {
                // Now, not at the take-over. A home has done so.
                try configuration.data.prepare()
                do {
                    try SharedSecrets(database, configuration.data).take()
                } catch let failure as StoreFailure where failure.reason == .noStore {
                    // The home is of an earlier version, which shares no secrets.
                }
            }
        } catch let failure as StoreFailure where failure.isPassing {
            // After a power failure the database starts last; systemd gives up after a few failed starts.
            log.error("\(failure)")
            try configuration.data.prepare()
        }
        let listeners = first == nil ? try await server.standBy() : nil
        await server.begin(first, listeners)
        return server
    }

    private func begin(_ home: CallServer?, _ standby: Standby?) {
        serving = Task { await serve(home, standby) }
        if let manager = ServiceManager() { notifying = Task { await notify(manager) } }
    }

    /// Tells the service manager that this process has started, and notifies its watchdog on a standby and during a
    /// take-over. A home's core does so itself.
    private func notify(_ manager: ServiceManager) async {
        manager.notify("READY=1")
        guard let longest = manager.watchdog else { return }
        while !Task.isCancelled {
            if running == nil { manager.notify("WATCHDOG=1") }
            try? await Task.sleep(for: longest / 4)
        }
    }

    /// Serves in turn as home and as standby, until the task is cancelled.
    private func serve(_ home: CallServer?, _ standby: Standby?) async {
        var (home, standby) = (home, standby)
        while !Task.isCancelled {
            if let server = home {
                await leave(server)
                home = nil
                let hasStandbys = server.parts.store.homeLease?.term.standbys.isEmpty == false
                // In a task of its own: this one is cancelled, and would not wait.
                if Task.isCancelled, hasStandbys { await Task { await self.refuseClients() }.value }
            } else if let waiting = standby {
                await waiting.untilFree()
                await waiting.stop()
                standby = nil
                guard !Task.isCancelled else { return }
                home = await attempt { try await self.becomeHome(isTakeOver: true) } ?? nil
            } else {
                standby = await attempt { try await self.standBy() }
            }
        }
        await standby?.stop()
        // The task was cancelled during the take-over.
        if let home { await stop(home) }
    }

    /// Runs `body`; logs its failure and waits a little, because this process must not end.
    private func attempt<Value>(_ body: () async throws -> Value) async -> Value? {
        do {
            return try await body()
        } catch {
            log.error("\(error)")
            try? await Task.sleep(for: Self.pause)
            return nil
        }
    }

    /// - Returns: nil when the realm has a home.
    private func becomeHome(isTakeOver: Bool) async throws -> CallServer? {
        let began = ContinuousClock.now
        do {
            missedReload = nil
            let server = try await CallServer.start(configuration, clocks, log, isTakeOver: isTakeOver)
            running = server
            if let missedReload {
                do {
                    try await server.reload(missedReload)
                } catch {
                    log.error("the new settings are not used", metadata: ["error": .string("\(error)")])
                }
            }
            log.notice(
                "this server is the realm's home",
                metadata: [
                    "epoch": .stringConvertible(server.parts.store.homeLease?.term.epoch ?? 0),
                    "took_ms": .stringConvertible((ContinuousClock.now - began).wholeMilliseconds),
                ])
            return server
        } catch let failure as StoreFailure where failure.reason == .livingHome {
            return nil
        }
    }

    private func standBy() async throws -> Standby {
        let standby = try await Standby.start(configuration, clocks, log)
        self.standby = standby
        log.notice("standing by", metadata: ["realm": .string(configuration.database?.realm ?? "")])
        return standby
    }

    /// Waits until the server must not be the home any more, or the task is cancelled, and stops it.
    private func leave(_ server: CallServer) async {
        switch await server.termEnd() {
        case nil: break
        case .fenced(let failure):
            log.error("this server has lost the lease, and stands by", metadata: ["error": .string("\(failure)")])
        case .handover: log.notice("handing over to another server")
        }
        await stop(server)
    }

    /// Says for a while that this process is not the home, on the address of a home that was stopped.
    private func refuseClients() async {
        do {
            try await Standby.refuseClients(configuration, for: Self.leaving)
        } catch {
            log.warning("clients find a closed port", metadata: ["error": .string("\(error)")])
        }
    }

    private func stop(_ server: CallServer) async {
        running = nil
        await server.stop()
    }

    /// Applies new settings: see `CallServer.reload`. A standby uses them when it becomes the home.
    /// - Parameter whole: the configuration that `reload` is made of.
    public func reload(_ reload: ServerReload, _ whole: ServerConfiguration) async throws {
        if let running {
            try await running.reload(reload)
            configuration = configuration.reloaded(as: whole)
        } else {
            // Only the home makes the realm's key for Web Push; a random one serves for the check.
            var checked = reload
            if checked.push?.webPush?.key == nil {
                checked.push?.webPush?.key = try configuration.data.keptWebPushKey() ?? .random()
            }
            let certificate = try checked.checked(in: configuration.data).certificate
            missedReload = reload
            configuration = configuration.reloaded(as: whole)
            await standby?.reload(configuration, certificate)
        }
    }

    /// Leaves the realm: stops as `CallServer.stop` does, and gives the lease back. With a standby, a home then refuses
    /// clients for a second, until load balancers have noticed.
    public func stop() async {
        notifying?.cancel()
        serving?.cancel()
        await serving?.value
        log.info("left the realm")
    }
}

extension StoreFailure {
    /// Whether a server waits for the end of this failure rather than end.
    fileprivate var isPassing: Bool {
        switch reason {
        // A standby server of PostgreSQL cannot be written until it is promoted.
        case .unreachable, .noSynchronousStandby, .tooManyConnections, .busy, .cannotWrite: true
        default: false
        }
    }
}

extension ServerConfiguration {
    /// This process, for the others of its realm.
    var ownNode: RealmNode {
        RealmNode(
            name: node,
            address: "\(ProcessInfo.processInfo.hostName), process \(ProcessInfo.processInfo.processIdentifier), "
                + "listening on \(address)",
            version: CallServer.version)
    }

    /// The reloaded configuration, with what a reload leaves as it is.
    fileprivate func reloaded(as new: ServerConfiguration) -> ServerConfiguration {
        var new = new
        (new.address, new.data, new.database, new.realmNode) = (address, data, database, realmNode)
        (new.shards, new.metrics, new.node) = (shards, metrics, node)
        (new.adminHooks, new.logLinesDropped, new.logFailure) = (adminHooks, logLinesDropped, logFailure)
        (new.hasRefusedReload, new.missingFiles) = (hasRefusedReload, missingFiles)
        return new
    }
}
