import CallCore
import CallVocabulary
import Glibc
import RecordTables
import StoreInterface
import StoreTesting
import Testing

@testable import PostgresStore

@Suite struct PostgresOpeningTests {
    @Test func `a store is made, written, read and opened again`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "test")
        let call = CallRecord(
            id: .random(), caller: Party(user: Handle("alice")!, device: .random()), callerName: nil,
            to: .user(Handle("bob")!), video: false, inviteDigest: 1, state: .routing,
            createdAt: Instant(milliseconds: 1), ringsUntil: Instant(milliseconds: 2))
        try store.commit([.call(call)])
        let reader = PostgresReader(address)
        #expect(try reader.query { try $0.call(call.id) }?.call == call)
        #expect(try reader.query { try $0.history(of: Handle("bob")!, after: nil, limit: 3) }.entries.count == 1)
        #expect(try reader.query { try $0.audit() }.violations == [])
        store.close()
        let again = try PostgresStore.open(address, name: "test")
        #expect(try again.recover().calls == [call])
        again.close()
    }

    @Test(.enabled(if: PostgresServer.hasPooler, "apt install pgbouncer"), arguments: ["transaction", "statement"])
    func `a pooler that gives each transaction another session is refused, with what to do`(mode: String) async throws {
        try await PostgresServer.shared().withPooler(mode: mode) { uri in
            let address = try #require(PostgresAddress(uri, realm: "pooled_\(mode)"))
            let failures = [
                #expect(throws: StoreFailure.self) { try PostgresStore.open(address, name: "a test") },
                #expect(throws: StoreFailure.self) { try Realm.warnings(address) },
            ]
            for failure in failures {
                #expect(failure?.reason == .unsuitableDatabase, "\(mode): \(String(describing: failure))")
                #expect(failure.map { "\($0)".contains("pool_mode = session") } == true)
            }
        }
        // Nothing was made.
        let direct = try await PostgresServer.shared().address(realm: "pooled_\(mode)")
        #expect(throws: StoreFailure.self) { try Realm.status(direct) }
    }

    @Test(.enabled(if: PostgresServer.hasPooler, "apt install pgbouncer"))
    func `a pooler that keeps the session of a connection is taken`() async throws {
        try await PostgresServer.shared().withPooler(mode: "session") { uri in
            let address = try #require(PostgresAddress(uri, realm: "pooled_session"))
            #expect(throws: Never.self) { try Realm.warnings(address) }
            let store = try PostgresStore.open(address, name: "a test")
            try store.commit([.call(.live())])
            store.close()
        }
    }

    @Test func `the database ends each statement by the time that nobody waits for its answer any more`() async throws {
        let address = try await PostgresServer.freshAddress()
        let other = PostgresConnection.Purpose(name: "a test", patience: .milliseconds(1500))
        for purpose in [PostgresJournal.purpose(), PostgresTables.purpose, other] {
            let connection = try PostgresConnection(address, purpose)
            let text = try connection.text("SELECT setting FROM pg_settings WHERE name = 'statement_timeout'")
            let limit = try #require(text.flatMap { Int64($0) })
            #expect((1...purpose.patience.wholeMilliseconds).contains(limit), "\(purpose.name): \(limit) ms")
        }
    }

    @Test func `a prepared statement that is another session's means a pooler`() {
        for state in ["26000", "42P05"] {
            let failure = StoreFailure(
                sqlState: state, message: "it does not exist", isLost: false, path: "postgres://h/d")
            #expect(failure.reason == .unsuitableDatabase && "\(failure)".contains("pool_mode = session"))
        }
    }

    @Test func `the reason of a failed connection is told from the words of libpq`() {
        func reason(_ message: String) -> StoreFailure.Reason {
            StoreFailure(connecting: message, path: "postgres://u@h/d").reason
        }
        let (refused, standby) = (
            "h, port 5432 failed: Connection refused", "h, port 5432 failed: session is read-only"
        )
        #expect(reason(standby) == .cannotWrite)
        #expect(reason("\(standby)\n\(standby)\n") == .cannotWrite)
        #expect(reason("\(refused)\n\(standby)\n") == .unreachable)
        #expect(reason(#"invalid URI query parameter: "foo""#) == .invalidAddress)
        #expect(reason(#"invalid sslmode value: "x""#) == .invalidAddress)
        #expect(reason(#"FATAL:  database "none" does not exist"#) == .noStore)
        #expect(reason(#"FATAL:  role "nobody" does not exist"#) == .accessDenied)
    }

    @Test(arguments: [
        ("postgres://u@h/d", #""d" OWNER "u""#), ("postgres://u@h1,h2/d realm x", #""d" OWNER "u""#),
        ("postgres://h/d", #""d""#), ("postgres://u@/?dbname=e&host=/tmp", #""e" OWNER "u""#),
        ("postgres://u@h", #""u" OWNER "u""#), ("postgres://", #""reveille""#),
        ("postgres://user@h/order", #""order" OWNER "user""#),
        ("postgres://a%22b@h/my%20d%C3%A9-1%+1%2", #""my dé-1%+1%2" OWNER "a""b""#),
    ])
    func `the advice for a missing database names it and its user`(path: String, names: String) {
        let failure = StoreFailure(.noStore, path: path, detail: "it is missing")
        #expect("\(failure)".contains("CREATE DATABASE \(names) ENCODING"), "\(failure)")
    }

    @Test func `of several hosts, a connection begins with the one that the last connection was made to`() async throws
    {
        let server = try await PostgresServer.shared()
        let silent = try SilentListener()
        let folder = server.folder.replacing("/", with: "%2F")
        // libpq reads an empty port for each host out of it.
        let uri = "postgres://reveille@\(silent.host),\(folder)/postgres"
        let address = try #require(PostgresAddress(uri))
        let purpose = PostgresConnection.Purpose(name: "test", patience: .seconds(5))
        // Blocks until the attempt at the silent host is given up.
        try await apart { _ = try PostgresConnection(address, purpose) }
        #expect(silent.connectionCount() == 1)
        for _ in 0..<3 { _ = try PostgresConnection(address, purpose) }
        #expect(silent.connectionCount() == 0)
    }
}

/// PostgreSQL's port of a loopback address, at which connections are made and nothing is answered.
private final class SilentListener {
    private let descriptor: Int32
    let host = "127.\(Int.random(in: 2...254)).\(Int.random(in: 2...254)).1"

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(host)
        address.sin_port = in_port_t(5432).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && listen(descriptor, 16) == 0
            }
        }
        try #require(result)
    }

    deinit { close(descriptor) }

    /// The connections since the last call.
    func connectionCount() -> Int {
        var count = 0
        while true {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { return count }
            close(connection)
            count += 1
        }
    }
}
