import CallCore
import CallVocabulary
import Foundation
import RecordTables
import StoreInterface
import StoreTesting
import Testing

@testable import PostgresStore

@Suite struct StatementTests {
    /// The parameters of each statement, by their places.
    private static var parameters: [String] {
        StoreStatement.allCases.map { statement in
            let text = statement.sql(.postgreSQL)
            let columns = text.firstMatch(of: /INSERT INTO \w+ \(([^)]*)\)/).map { String($0.1) } ?? text
            return "\(statement.rawValue) \(statement) \(columns)"
        }
    }

    /// The journal of a killed home is applied by its number: with other parameters it needs another
    /// `PostgresJournal.format`, and a way for the old one. `RECORD_OUTPUT=1` writes the file.
    @Test func `the parameters of the journal's operations are those of its format`() throws {
        let file = #filePath.replacing("StatementTests.swift", with: "Recorded/journal-\(PostgresJournal.format).txt")
        let text = Self.parameters.joined(separator: "\n") + "\n"
        if ProcessInfo.processInfo.environment["RECORD_OUTPUT"] != nil {
            try text.write(toFile: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
    }

    @Test func `statements of commits and lookups find their rows by an index, without statistics`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "a test")
        defer { store.close() }
        let session = try Session(address)
        try session.run("SET enable_seqscan = off")
        let statements = StoreStatement.allCases.map { $0.sql(.postgreSQL) } + LookUpStatements(.postgreSQL).all
        for statement in statements {
            let text = StatementText(statement)
            try session.run("PREPARE p AS \(text.sql)")
            let nulls = Array(repeating: "NULL", count: text.parameterCount).joined(separator: ", ")
            let plan = try session.text("EXPLAIN EXECUTE p(\(nulls))")
            // The one row of the last deleted event's position.
            let scans = plan.filter { $0.contains("Seq Scan") && !$0.contains("event_position") }
            #expect(scans == [], "\(statement)\n\(plan.joined(separator: "\n"))")
            try session.run("DEALLOCATE p")
        }
    }

    @Test func `a column of another type is no number, and no trap`() async throws {
        let session = try Session(try await PostgresServer.freshAddress())
        let row = try session.connection.run("SELECT 'abc'::text, 1.5::numeric, 7::smallint, NULL::bigint, -7::bigint")
        #expect((0..<6).map { row.int(0, $0) } == [nil, nil, 7, nil, -7, nil])
    }

    /// Histories are written for the calls and legs after these numbers: of all there are, if they were lost.
    @Test func `the last numbers of calls and legs are known after each transaction`() async throws {
        let store = try PostgresStore.open(try await PostgresServer.freshAddress(), name: "a test")
        defer { store.close() }
        for number in 1...3 {
            let call = CallRecord.live()
            let leg = LegRecord(
                call: call.id, device: DeviceKey(user: handle("bob"), device: .random()), push: .random(),
                state: .waking,
                createdAt: at(1))
            try store.commit([.call(call), .leg(leg), .leg(leg)])
            #expect(store.tables.lastSerials == (Int64(number), Int64(number)))
        }
    }

    @Test func `a text with a zero byte, which PostgreSQL cannot store, does not stop the log`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "a test")
        defer { store.close() }
        var device = DeviceRecord(
            key: DeviceKey(user: handle("bob"), device: .random()), platform: .ios, app: "a\0b", name: "\0", tokens: [],
            seenAt: at(1), unreportedStreak: 0, suspendedAt: nil, probes: 0, nextProbeAt: nil)
        try store.commit([.device(device)])
        (device.app, device.name) = ("a\u{FFFD}b", "\u{FFFD}")
        let reader = PostgresReader(address)
        defer { reader.close() }
        #expect(try reader.query { try $0.device(device.key) } == device)
    }

    @Test func `what a later version has written is refused, and unchanged`() async throws {
        let address = try await PostgresServer.freshAddress()
        try PostgresStore.open(address, name: "a test").close()
        let session = try Session(address)
        try session.run("INSERT INTO schema_version (version) VALUES (\(PostgresSchema.newest + 1))")
        for open in [
            { try PostgresStore.open(address, name: "a test").close() },
            { _ = try PostgresReader(address).query { try $0.callCount() } },
        ] {
            let failure = #expect(throws: StoreFailure.self) { try open() }
            #expect(failure?.reason == .newerVersion)
        }
        // The later version's home keeps its lease.
        #expect(try session.number("SELECT epoch FROM home") == 1)
    }

    @Test func `a database without a store says so to a reader, which makes none`() async throws {
        let address = try await PostgresServer.freshAddress()
        let failure = #expect(throws: StoreFailure.self) { try PostgresReader(address).query { try $0.callCount() } }
        #expect(failure?.reason == .noStore)
        #expect(
            try Session(address).number("SELECT count(*) FROM pg_namespace WHERE nspname = '\(address.realm)'") == 0)
    }
}
