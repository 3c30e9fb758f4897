import CallCore
import CallVocabulary
import Foundation
import Glibc
import RecordTables
import StoreInterface
import StoreTesting
import Synchronization
import Testing

@testable import PostgresStore

func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: 1_790_000_000_000 + milliseconds) }

func handle(_ text: String) -> Handle {
    // Tests name handles that are valid.
    Handle(text)!
}

/// Waits until `condition` holds; records an issue when it does not in forty seconds.
func eventually(_ what: Comment, _ condition: () throws -> Bool) async rethrows {
    let deadline = ContinuousClock.now + .seconds(40)
    while try !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what)
            return
        }
        // The database needs the processors too.
        try? await Task.sleep(for: .milliseconds(1))
    }
}

/// Runs `body` on a thread of its own: it blocks for seconds, and Swift's pool, which all tests share, has one thread for
/// each processor.
func apart(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Opens the realm as another node, as a standby does once the lease has ended. A home that lives renews its lease at any
/// time, so the lease is ended until the other node has it.
func takeOver(_ address: PostgresAddress, name: String) throws -> PostgresStore {
    let session = try Session(address)
    while true {
        try session.run("UPDATE lease SET until = now() - interval '1 second'")
        if let store = try openIfFree(address, name: name) { return store }
    }
}

private func openIfFree(_ address: PostgresAddress, name: String) throws(StoreFailure) -> PostgresStore? {
    do {
        return try PostgresStore.open(address, name: name, patience: .zero)
    } catch {
        guard error.reason == .livingHome else { throw error }
        return nil
    }
}

/// Opens the realm's store once the lease of its home has ended, which takes seconds, as ``apart(_:)``.
func openApart(_ address: PostgresAddress, name: String) async throws -> PostgresStore {
    /// Proof for `@unchecked`: the store is opened on one thread, which keeps nothing of it, and used on another
    /// afterwards.
    struct Opened: @unchecked Sendable {
        let store: PostgresStore
    }
    let opened = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Opened, any Error>) in
        Thread.detachNewThread {
            continuation.resume(with: Result { Opened(store: try PostgresStore.open(address, name: name)) })
        }
    }
    return opened.store
}

extension CallRecord {
    static func live(_ id: CallID = .random(), createdAt: Instant = at(10)) -> CallRecord {
        CallRecord(
            id: id, caller: Party(user: handle("alice"), device: .random()), callerName: nil, to: .user(handle("bob")),
            video: false, inviteDigest: 1, state: .routing, createdAt: createdAt, ringsUntil: createdAt + .seconds(45))
    }
}

/// The outcome of each batch, in the order of their completions.
final class Outcomes: Sendable {
    private let entries = Mutex<[String]>([])

    var all: [String] { entries.withLock { $0 } }

    func commit(_ name: String, _ records: [StoreRecord], to log: any RecordLog) -> Bool {
        log.commit(batch: records) { [self] result in
            let text =
                switch result {
                case .success: "\(name) durable"
                case .failure(let failure): "\(name) \(failure.reason)"
                }
            entries.withLock { $0.append(text) }
        }
    }
}

/// Commits one new call after the other, each after the completion of the one before.
final class Stream: Sendable {
    private let log: any RecordLog
    private let isEnding = Mutex(false)
    private let ids = Mutex<[CallID]>([])

    init(_ log: any RecordLog) { self.log = log }

    /// The calls whose commit was acknowledged.
    var acknowledged: [CallID] { ids.withLock { $0 } }

    func goOn(_ number: Int64 = 0) {
        guard !isEnding.withLock({ $0 }) else { return }
        let call = CallRecord.live(createdAt: at(number))
        _ = log.commit(batch: [.call(call)]) { [self] result in
            guard case .success = result else { return }
            ids.withLock { $0.append(call.id) }
            goOn(number + 1)
        }
    }

    func end() { isEnding.withLock { $0 = true } }
}

/// A Unix socket before that of a server, and a thread that passes bytes on. Once it is silent it takes and keeps
/// connections, and passes nothing on, as a network that is cut. Must be ended with ``close()``.
final class Relay: Sendable {
    private struct State {
        var connections = 0
        var isSilent = false
        var isClosed = false
    }

    let folder: String
    private let target: String
    private let listener: Int32
    private let state = Mutex(State())

    init(to server: PostgresServer) throws {
        folder = server.folder + "/relay-\(UUID().uuidString.prefix(8))"
        target = server.folder + "/.s.PGSQL.5432"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let descriptor = listener
        let result = Self.withAddress(folder + "/.s.PGSQL.5432") { bind(descriptor, $0, $1) }
        try #require(result == 0)
        try #require(listen(descriptor, 16) == 0)
        Thread.detachNewThread { [self] in run() }
    }

    var address: PostgresAddress {
        guard let address = PostgresAddress("postgres://reveille@/postgres?host=\(folder)") else {
            preconditionFailure("a folder is no host")
        }
        return address
    }

    var connectionCount: Int { state.withLock { $0.connections } }

    func silence() { state.withLock { $0.isSilent = true } }

    func close() { state.withLock { $0.isClosed = true } }

    private func run() {
        /// By descriptor, the other side's.
        var peers: [Int32: Int32] = [:]
        while !state.withLock({ $0.isClosed }) {
            let isSilent = state.withLock { $0.isSilent }
            let descriptors = [listener] + (isSilent ? [] : Array(peers.keys))
            var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), 10) > 0 else { continue }
            for ready in polled where ready.revents != 0 {
                if ready.fd == listener {
                    accept(&peers)
                    // It may have fallen silent during the wait.
                } else if !state.withLock({ $0.isSilent }), let peer = peers[ready.fd], !Self.pass(ready.fd, peer) {
                    for descriptor in [ready.fd, peer] {
                        peers[descriptor] = nil
                        Glibc.close(descriptor)
                    }
                }
            }
        }
        for descriptor in [listener] + Array(peers.keys) { Glibc.close(descriptor) }
    }

    private func accept(_ peers: inout [Int32: Int32]) {
        let client = Glibc.accept(listener, nil, nil)
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard client >= 0, Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
            for descriptor in [client, server] { Glibc.close(descriptor) }
            return
        }
        (peers[client], peers[server]) = (server, client)
        state.withLock { $0.connections += 1 }
    }

    /// - Returns: false at the end of the connection.
    private static func pass(_ source: Int32, _ peer: Int32) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(source, &buffer, buffer.count)
        return count > 0 && send(peer, buffer, count, Int32(MSG_NOSIGNAL)) == count
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

/// An administrator's session on the realm's database.
struct Session {
    let connection: PostgresConnection

    init(_ address: PostgresAddress) throws {
        connection = try PostgresConnection(
            address, PostgresConnection.Purpose(name: "a test", patience: .seconds(20)))
    }

    func run(_ sql: String) throws { try connection.runSimple(sql) }

    func number(_ sql: String) throws -> Int64? { try connection.run(sql).int(0, 0) }

    /// The first column, as text.
    func text(_ sql: String) throws -> [String] {
        let rows = try connection.run(sql)
        return (0..<rows.rowCount).map { rows.text($0, 0) ?? "" }
    }

    /// The process of the server that serves the realm's connections of a name.
    func backend(_ name: String) throws -> Int32? {
        let row = try connection.run(
            """
            SELECT pid FROM pg_stat_activity WHERE application_name LIKE '\(name)%' AND query LIKE '%journal%'
            ORDER BY backend_start DESC LIMIT 1
            """)
        return row.rowCount == 0 ? nil : row.int(0, 0).map { Int32($0) }
    }

    /// Ends all connections of a name. Returns once they are gone.
    func terminate(_ name: String) throws {
        try run("SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE application_name LIKE '\(name)%'")
    }
}
