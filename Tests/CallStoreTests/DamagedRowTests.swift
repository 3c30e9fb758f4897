import CallCore
import CallVocabulary
import Determinism
import Foundation
import GRDB
import StoreInterface
import Testing

@testable import CallStore

/// Rows with a damaged value. A disk may return them undetected, because SQLite keeps no checksums of pages.
@Suite("Damaged rows") struct DamagedRowTests {
    @Test(
        "a start with a damaged value accepts the records or refuses the row, and never traps",
        arguments: 1...4 as ClosedRange<UInt64>)
    func damagedValue(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        defer { store.close() }
        var history = RandomHistory(seed: seed)
        for _ in 0..<30 { try store.commit(history.batch()) }
        try store.commit(Self.group())
        var generator = SeededGenerator(seed: seed)
        var refused = 0
        for _ in 0..<400 {
            // In a transaction that is rolled back, so that nothing is synced.
            try store.tables.queue.inDatabase { database in
                try database.inTransaction {
                    guard try Self.damage(database, &generator) else { return .rollback }
                    if !Self.start(on: database, seed: seed) { refused += 1 }
                    return .rollback
                }
            }
        }
        #expect(refused > 0)
    }

    @Test(
        "inconsistent members, hunt and forwards are refused",
        arguments: [
            (#"members = replace(members, 'member-17', 'member-16')"#, "members"), ("hunt_rung = 99", "hunt_rung"),
            ("hunt_steps = '[1]'", "hunt_steps"), ("created_at = 1 << 60", "created_at"),
            ("members = NULL, hunt_steps = NULL, hunt_rung = -1", "hunt_rung"),
            (#"callee = '{"user":"bob"}', members = '[]', hunt_steps = NULL"#, "members"),
            ("event_count = 9223372036854775807", "event_count"), ("event_count = -1", "event_count"),
            (
                #"members = '[]', hunt_steps = NULL, forwards = '[{"reason":"busy","to":{"user":"bob"},"at":1,"first":5}]'"#,
                "forwards"
            ),
        ])
    func misfit(change: String, column: String) throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        defer { store.close() }
        try store.commit(Self.group())
        #expect(try store.whole().calls.count == 1)
        try store.tables.queue.write { try $0.execute(sql: "UPDATE call SET \(change)") }
        let failure = failure { () throws(StoreFailure) in try store.recover() }
        #expect(failure?.reason == .unreadableRow && failure?.detail.contains("call.\(column)") == true)
    }

    @Test(
        "a count of a device that is negative, or cannot grow, is refused",
        arguments: ["unreported_streak", "probes"], [-1, Int64.max])
    func count(column: String, value: Int64) throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        defer { store.close() }
        try store.commit(Self.group() + [.device(.full(user: "member-0"))])
        #expect(try store.recover().users.contains { !$0.devices.isEmpty })
        try store.tables.queue.write { try $0.execute(sql: "UPDATE device SET \(column) = \(value)") }
        let failure = failure { () throws(StoreFailure) in try store.recover() }
        #expect(failure?.reason == .unreadableRow && failure?.detail.contains("device.\(column)") == true)
    }

    /// A hunt over so many members that the core indexes them.
    private static func group() -> [StoreRecord] {
        var call = CallRecord.live(to: .group("many"), createdAt: at(1_000_000))
        call.members = (0..<20).map { handle("member-\($0)") }
        call.hunt = CallRecord.HuntProgress(rung: 3, nextAt: at(1_000_020))
        call.huntSteps = (0..<20).map { .seconds($0) }
        call.ringTime = .seconds(40)
        let legs = (0..<3).map { LegRecord.sample(of: call, user: "member-\($0)") }
        return [.call(call)] + legs.map { .leg($0) }
            + [.candidates(.sample(["1"], of: call)), .absence(.sample(of: call))]
    }

    /// Changes one value of one row.
    /// - Returns: false when a constraint forbids it.
    private static func damage(_ database: Database, _ generator: inout SeededGenerator) throws -> Bool {
        func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &generator)] }
        let table = pick([
            "call", "call", "call", "leg", "leg", "push", "device", "push_token", "missed_call", "call_descriptions",
            "call_candidates", "call_absence", "call_group", "user_policy", "call_rules", "token_revocation", "alias",
        ])
        guard let row = try pickRow(of: table, database, &generator) else { return false }
        let column = pick(Array(row.columnNames.filter { $0 != "serial" }))
        let value: DatabaseValue = row[column]
        var damaged: (any DatabaseValueConvertible)?
        switch value.storage {
        case .null: damaged = pick([0, 1, Int64.max])
        case .int64(let number): damaged = number ^ (1 << Int64.random(in: 0..<64, using: &generator))
        case .double: return false
        case .string(let text): damaged = String(decoding: flipped(Data(text.utf8), &generator), as: UTF8.self)
        case .blob(let bytes): damaged = flipped(bytes, &generator)
        }
        let key = row.columnNames.prefix(row.columnNames.first == "serial" ? 1 : 3)
        let condition = key.map { "\($0) IS ?" }.joined(separator: " AND ")
        do {
            try database.execute(
                sql: "UPDATE \(table) SET \(column) = ? WHERE \(condition)",
                arguments: StatementArguments([damaged] + key.map { row[$0] as DatabaseValue }))
            return true
        } catch {
            return false
        }
    }

    private static func pickRow(
        of table: String, _ database: Database, _ generator: inout SeededGenerator
    ) throws -> Row? {
        let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? 0
        guard count > 0 else { return nil }
        // In half of the cases the last row, which has the hunt.
        let offset = max(Int.random(in: 0..<count, using: &generator), Bool.random(using: &generator) ? count - 1 : 0)
        return try Row.fetchOne(database, sql: "SELECT * FROM \(table) LIMIT 1 OFFSET \(offset)")
    }

    private static func flipped(_ data: Data, _ generator: inout SeededGenerator) -> Data {
        guard !data.isEmpty else { return Data([0]) }
        var data = data
        let at = Int.random(in: 0..<data.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        // A changed length in the header of a row shortens a value.
        case 0: return data.prefix(at)
        // Often gives a valid text, such as a name that occurs twice.
        case 1, 2: data[at] = data[Int.random(in: 0..<data.count, using: &generator)]
        default: data[at] ^= UInt8.random(in: 1...255, using: &generator)
        }
        return data
    }

    /// Recovers a core from the rows, and lets an hour pass.
    /// - Returns: false when the rows are refused.
    private static func start(on database: Database, seed: UInt64) -> Bool {
        guard let state = try? Recovery.read(database) else { return false }
        let core = CallCore(random: SeededGenerator(seed: seed))
        var effects = EffectBuffer()
        core.recover(state, now: at(1_000_010), effects: &effects)
        for second in 0..<60 {
            core.handleTimeouts(now: at(1_000_010 + Int64(second) * 60_000), effects: &effects)
        }
        _ = effects.take()
        return true
    }
}
