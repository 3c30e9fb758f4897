import CallServer
import ChildProcess
import EventLoop
import Foundation
import Glibc
import StoreInterface
import Synchronization

/// Two servers of the run's own that share a realm in PostgreSQL, with HAProxy in front. The home is killed again and
/// again while ``kill(every:)`` runs. Any thread.
final class RunRealm: Sendable {
    /// The books of the kills.
    struct Kills: Sendable {
        var gaps: [Duration] = []
        /// Why the killing ended early.
        var failure: String?
    }

    private struct Node {
        let name: String
        let folder: String
        let port: UInt16
        let metricsPort: UInt16
        var process: LoggedProcess
        var starts = 1
    }

    private static let haproxy = "/usr/sbin/haproxy"
    private static let homeLine = #""message":"this server is the realm's home""#
    private static let standbyLine = #""message":"the realm has a home""#
    /// A take-over takes as long as the lease, and the recovery.
    private static let patience = Duration.seconds(20)
    private static let pollInterval = Duration.milliseconds(10)
    /// Answers of the home in a row after which HAProxy has checked the standby: before, half of the connections reach it.
    private static let certainlyChecked = 20

    let url: String
    let startTime: Duration
    private let server: LoadTarget.OwnServer
    private let database: PostgresAddress
    private let arguments: [String]
    private let front: ChildProcess
    private let nodes: Mutex<[Node]>
    private let books = Mutex(Kills())

    /// - Parameters:
    ///   - arguments: of `reveille serve`, for both servers.
    ///   - folder: for their data and logs, exclusively.
    /// - Throws: ``LoadError``; nothing runs then.
    static func start(
        _ server: LoadTarget.OwnServer, in database: PostgresAddress, arguments: [String], folder: String
    ) async throws -> RunRealm {
        guard access(haproxy, X_OK) == 0 else {
            throw LoadError("HAProxy is needed in front of two servers: apt install haproxy")
        }
        let begun = ContinuousClock.now
        var nodes: [Node] = []
        do {
            for name in ["one", "two"] {
                let (port, metricsPort) = (try LoopbackPort.free(), try LoopbackPort.free())
                let (data, ready) = ("\(folder)/\(name)", nodes.isEmpty ? homeLine : standbyLine)
                let process = try await run(
                    name, server, database, arguments, data: data, ports: (port, metricsPort), start: 1, ready: ready)
                nodes.append(
                    Node(name: name, folder: data, port: port, metricsPort: metricsPort, process: process))
            }
            let port = try LoopbackPort.free()
            let front = try await startFront(at: port, nodes.map(\.port), folder)
            return RunRealm(
                url: "ws://127.0.0.1:\(port)", startTime: begun.duration(to: .now), server, database, arguments,
                front, nodes)
        } catch {
            for node in nodes { _ = await node.process.stop() }
            throw error
        }
    }

    private init(
        url: String, startTime: Duration, _ server: LoadTarget.OwnServer, _ database: PostgresAddress,
        _ arguments: [String], _ front: ChildProcess, _ nodes: [Node]
    ) {
        self.url = url
        self.startTime = startTime
        self.server = server
        self.database = database
        self.arguments = arguments
        self.front = front
        self.nodes = Mutex(nodes)
    }

    private static func run(
        _ name: String, _ server: LoadTarget.OwnServer, _ database: PostgresAddress, _ arguments: [String],
        data: String, ports: (UInt16, UInt16), start: Int, ready: String
    ) async throws -> LoggedProcess {
        try await LoggedProcess.start(
            "server \(name)", executable: server.executable,
            arguments: [
                "serve", "--store", database.uri, "--realm", database.realm, "--node", name, "--data", data, "--port",
                "\(ports.0)", "--metrics-listen", "127.0.0.1:\(ports.1)",
            ] + arguments, logFile: "\(data)-\(start).log",
            ready: { $0.contains(ready) ? true : nil }
        ).process
    }

    // MARK: HAProxy

    /// The checks are those of `Resources/haproxy/haproxy.cfg`.
    private static func startFront(at port: UInt16, _ servers: [UInt16], _ folder: String) async throws -> ChildProcess
    {
        let lines = servers.enumerated().map { "  server node\($0.offset) 127.0.0.1:\($0.element) check" }
        let text = """
            defaults
              mode tcp
              timeout connect 250ms
              timeout client 1h
              timeout server 1h
              timeout check 1s
              retries 10
              option redispatch 1
            frontend phones
              bind 127.0.0.1:\(port)
              default_backend nodes
            backend nodes
              option httpchk GET /homez
              default-server inter 250ms fall 2 rise 1
            \(lines.joined(separator: "\n"))

            """
        let file = folder + "/haproxy.cfg"
        do { try PrivateFile.write(text.utf8, to: file) } catch { throw LoadError("cannot write \(file)") }
        let front: ChildProcess
        do {
            front = try ChildProcess.start(haproxy, ["-db", "-f", file], output: .file(folder + "/haproxy.log"))
        } catch {
            throw LoadError("HAProxy cannot be started: \(error)")
        }
        Remains.all.add(front)
        let deadline = ContinuousClock.now + patience
        // HAProxy takes each server for the home until its first check.
        var inARow = 0
        while inARow < certainlyChecked {
            inARow = LoopbackPort.isHome(port) ? inARow + 1 : 0
            guard front.ending == nil, ContinuousClock.now < deadline else {
                await front.stop(atMost: .zero)
                Remains.all.forget(front)
                let words = LogFile(path: folder + "/haproxy.log").lastLines.suffix(3).joined(separator: " / ")
                throw LoadError("HAProxy does not start: \(words)")
            }
            await StopRequest.pause(pollInterval)
        }
        return front
    }

    // MARK: Killing

    var kills: Kills { books.withLock { $0 } }

    /// Kills the home every `interval` and starts it again once the other is the home, until the task is cancelled.
    func kill(every interval: Duration) async {
        while !Task.isCancelled {
            do { try await Task.sleep(for: interval) } catch { return }
            do {
                try await killHome()
            } catch {
                return books.withLock { $0.failure = "\(error)" }
            }
        }
    }

    private func killHome() async throws {
        let before = try RealmControl(database).status()
        let name = before.members.first(where: \.isHome)?.node.name
        guard let victim = nodes.withLock({ $0.first { $0.name == name } }),
            let other = nodes.withLock({ $0.first { $0.name != name } })
        else { throw LoadError("the realm of the run has no home") }
        await victim.process.kill()
        let killed = ContinuousClock.now
        while Self.lastEpoch(other) <= before.epoch {
            guard killed.duration(to: .now) < Self.patience else {
                throw LoadError(
                    other.process.complaint("server \(other.name) has not taken the lease within \(Self.patience)"))
            }
            await StopRequest.pause(Self.pollInterval)
        }
        books.withLock { $0.gaps.append(killed.duration(to: .now)) }
        let start = victim.starts + 1
        let process = try await Self.run(
            victim.name, server, database, arguments, data: victim.folder, ports: (victim.port, victim.metricsPort),
            start: start, ready: Self.standbyLine)
        nodes.withLock { nodes in
            guard let index = nodes.firstIndex(where: { $0.name == victim.name }) else { return }
            nodes[index].process = process
            nodes[index].starts = start
        }
    }

    /// The epoch in which the node became the home last, by the end of its log; 0 without such a line there. A process
    /// can be the home more than once: one that loses the lease stands by again.
    private static func lastEpoch(_ node: Node) -> Int64 {
        node.process.lastLine(with: homeLine).flatMap { line in
            let entry = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return (entry?["epoch"] as? NSNumber)?.int64Value
        } ?? 0
    }

    // MARK: As one server

    /// The data folder of the present home, which has the admin API.
    var home: String {
        let nodes = nodes.withLock { $0 }
        let running = nodes.filter(\.process.isRunning)
        return (running.max { Self.lastEpoch($0) < Self.lastEpoch($1) } ?? nodes[0]).folder
    }

    var isRunning: Bool { front.ending == nil && kills.failure == nil }

    func trimLogs() { for node in nodes.withLock({ $0 }) { node.process.trimLog() } }

    /// Stops all processes, the standby first.
    /// - Returns: failures, for the report.
    func stop() async -> [String] {
        var failures = [kills.failure].compactMap { $0 }
        let nodes = nodes.withLock { $0 }.sorted { Self.lastEpoch($0) < Self.lastEpoch($1) }
        for node in nodes { if let failure = await node.process.stop() { failures.append(failure) } }
        Remains.all.forget(front)
        await front.stop(atMost: .zero)
        return failures
    }
}
