import Foundation
import StoreInterface
import StoreTesting
import TestCleanup
import Testing

@Suite("The start of a server with PostgreSQL", .world, .timeLimit(.minutes(2)))
struct RealmStartTests {
    /// A datagram socket in place of systemd's.
    private final class ServiceSocket: Sendable {
        let path = NSTemporaryDirectory() + "notify-\(UUID().uuidString.prefix(8))"
        private let descriptor: Int32

        init() throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { [descriptor] in
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(result == 0)
        }

        deinit {
            close(descriptor)
            unlink(path)
        }

        /// The next state that was sent; nil when none waits.
        func next() -> String? {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
        }
    }

    @Test("a database that is away: the server stands by, systemd sees it run, and it serves when the database is back")
    func databaseAway() async throws {
        let database = try await PostgresServer.start()
        atEnd { try? await database.remove() }
        world.use(database.address(realm: "late"))
        try await database.stop("immediate")
        let service = try ServiceSocket()
        let server = try world.start(
            Program.reveille, ["serve", "--data", world.folder, "--port", "0"],
            environment: world.storeEnvironment.merging([
                "NOTIFY_SOCKET": service.path, "WATCHDOG_USEC": "400000", "REVEILLE_METRICS_LISTEN": "off",
            ]) { $1 })
        for state in ["READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"] {
            #expect(try await eventually("a notification") { service.next() } == state)
        }
        try await server.errors.first("it stands by") { $0.contains("standing by") ? true : nil }
        try await database.restart()
        try await server.errors.first("it serves") { $0.contains(#""message":"listening""#) ? true : nil }
    }
}
