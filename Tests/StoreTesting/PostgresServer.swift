import ChildProcess
import Foundation
import StoreInterface
import Synchronization

/// A PostgreSQL cluster in a temporary folder, reached through a Unix socket.
///
/// PostgreSQL refuses to run as root: then it runs as the user `postgres`. It is stopped, and its folder removed, when
/// this process ends in any way.
public final class PostgresServer: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// Debian's package of the server.
    private static let package = "postgresql-15"
    public static let programs = "/usr/lib/postgresql/15/bin"
    /// Runs the server until it ends or its input does. SIGQUIT is an immediate shutdown.
    private static let script = #"""
        "$0/postgres" -D "$1" & server=$!
        cat > /dev/null
        kill -QUIT $server 2> /dev/null
        wait $server
        [ -e "$2/stopped" ] || rm -rf "$2"
        """#

    /// The folder of the cluster and of its socket.
    public let folder: String
    private let server = Mutex<ChildProcess?>(nil)

    private init(folder: String) { self.folder = folder }

    deinit { server.withLock { $0?.closeInput() } }

    /// Makes and starts a cluster.
    /// - Parameters:
    ///   - parent: where its folder is made.
    ///   - settings: lines of `postgresql.conf`.
    public static func start(in parent: String = "/tmp", settings: [String] = []) async throws -> PostgresServer {
        guard access(programs + "/postgres", X_OK) == 0 else {
            throw ChildProcessFailure.notInstalled(program: "postgres", package: package)
        }
        let server = PostgresServer(folder: parent + "/reveille-pg-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(atPath: server.folder, withIntermediateDirectories: false)
        if getuid() == 0, let user = getpwnam("postgres")?.pointee {
            chown(server.folder, user.pw_uid, user.pw_gid)
        }
        let arguments = ["-D", server.data, "-A", "trust", "-U", "reveille", "-E", "UTF8", "--locale=C", "--no-sync"]
        try await server.run("initdb", arguments)
        let lines =
            [
                "listen_addresses = ''", "unix_socket_directories = '\(server.folder)'", "max_connections = 200",
                "shared_buffers = 32MB", "log_min_messages = warning",
            ] + settings
        let file = server.data + "/postgresql.conf"
        let old = try String(contentsOfFile: file, encoding: .utf8)
        // Written in place, so that its owner stays.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.write(contentsOf: Data((old + lines.joined(separator: "\n") + "\n").utf8))
        try handle.close()
        try await server.restart()
        return server
    }

    private var data: String { folder + "/data" }
    /// There while a test has it stopped.
    private var stopped: String { folder + "/stopped" }

    /// A realm of its own.
    public func address(realm: String) -> PostgresAddress {
        guard let address = PostgresAddress(uri, realm: realm) else { preconditionFailure("\(realm) is no realm") }
        return address
    }

    public var uri: String { "postgres://reveille@/postgres?host=\(folder)" }

    /// Starts a stopped server, and waits until it accepts connections.
    public func restart() async throws {
        try? FileManager.default.removeItem(atPath: stopped)
        let (program, arguments) = Self.asOwner("/bin/sh", ["-c", Self.script, Self.programs, data, folder])
        let child = try ChildProcess.start(
            program, arguments, folder: folder, input: .untilClosed, output: .file(folder + "/log-\(UUID().uuidString)")
        )
        server.withLock { $0 = child }
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            if try await isReady() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(description: "PostgreSQL does not start; see \(folder)")
    }

    /// Whether it accepts connections.
    public func isReady() async throws -> Bool {
        try await ChildProcess.run(Self.programs + "/pg_isready", ["-h", folder, "-q"]).ending == .exit(0)
    }

    /// Stops the server.
    /// - Parameter mode: as for `pg_ctl`: `immediate` is like a crash.
    public func stop(_ mode: String) async throws {
        try Data().write(to: URL(fileURLWithPath: stopped))
        try await run("pg_ctl", ["stop", "-D", data, "-m", mode, "-s"])
        let child = server.withLock { server in
            defer { server = nil }
            return server
        }
        child?.closeInput()
        _ = await child?.wait(atMost: .seconds(30))
    }

    /// Stops the server and removes its folder.
    public func remove() async throws {
        try await stop("immediate")
        try FileManager.default.removeItem(atPath: folder)
    }

    /// Sends a signal to the server and all its processes.
    public func send(_ signal: Int32) throws {
        let text = try String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
        guard let pid = text.split(separator: "\n").first.flatMap({ Int32($0) }) else { return }
        kill(pid, signal)
        for child in Self.children(of: pid) { kill(child, signal) }
    }

    private static func children(of pid: Int32) -> [Int32] {
        let text = try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
        return text?.split(separator: " ").compactMap { Int32($0) } ?? []
    }

    private func run(_ name: String, _ arguments: [String]) async throws {
        let (program, all) = Self.asOwner(Self.programs + "/" + name, arguments)
        let result = try await ChildProcess.run(program, all, folder: folder, within: .seconds(60))
        guard result.ending == .exit(0) else { throw Failure(description: "\(name): \(result.output)") }
    }

    private static func asOwner(_ program: String, _ arguments: [String]) -> (String, [String]) {
        guard getuid() == 0 else { return (program, arguments) }
        return ("/usr/bin/setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", program] + arguments)
    }
}

extension PostgresServer {
    private static let pooler = "/usr/sbin/pgbouncer"
    private static let poolerScript = #"""
        "$0" -q "$1/pgbouncer.ini" & pooler=$!
        cat > /dev/null
        kill $pooler 2> /dev/null
        wait $pooler
        """#

    /// Whether Debian's package `pgbouncer` is installed.
    public static var hasPooler: Bool { access(pooler, X_OK) == 0 }

    /// Runs PgBouncer before the server for as long as `body` takes.
    /// - Parameter mode: its `pool_mode`.
    public func withPooler(mode: String, _ body: (_ uri: String) async throws -> Void) async throws {
        let place = "\(folder)/pooler-\(mode)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        if getuid() == 0, let user = getpwnam("postgres")?.pointee { chown(place, user.pw_uid, user.pw_gid) }
        let lines = [
            "[databases]", "postgres = host=\(folder) dbname=postgres user=reveille", "[pgbouncer]",
            "unix_socket_dir = \(place)", "listen_port = 6432", "auth_type = any", "pool_mode = \(mode)",
        ]
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: place + "/pgbouncer.ini"))
        let (program, arguments) = Self.asOwner("/bin/sh", ["-c", Self.poolerScript, Self.pooler, place])
        let child = try ChildProcess.start(
            program, arguments, folder: place, input: .untilClosed, output: .file(place + "/log"))
        defer { child.closeInput() }
        let deadline = ContinuousClock.now + .seconds(30)
        let probe = ["-h", place, "-p", "6432", "-q"]
        while try await ChildProcess.run(Self.programs + "/pg_isready", probe).ending != .exit(0) {
            guard ContinuousClock.now < deadline else { throw Failure(description: "PgBouncer does not start") }
            try await Task.sleep(for: .milliseconds(50))
        }
        try await body("postgres://reveille@/postgres?host=\(place)&port=6432")
    }

    /// The cluster of this process, started at its first use.
    public static func shared() async throws -> PostgresServer { try await sharedTask.value }

    private static let sharedTask = Task { try await start() }
    private static let count = Atomic<Int>(0)

    /// A realm that no other test has.
    public static func freshAddress() async throws -> PostgresAddress {
        let number = count.add(1, ordering: .relaxed).newValue
        return try await shared().address(realm: "test_\(number)")
    }
}
