import GRDB
import RecordTables
import StoreInterface

/// Inserts calls into the histories of their parties: the caller, the users named when the call is first written, and
/// all users with a leg.
///
/// It inserts all calls and legs of a transaction at once, in the order of the histories, so that each page of the
/// table is written once; a trigger for each row would return to it each time. Members added to a call later are
/// inserted by a trigger.
final class HistoryWriter {
    private let lastCall: SQLRow
    private let lastLeg: SQLRow
    private let insert: SQLRow

    /// - Parameter sql: see ``JournalFormat/histories``.
    init(_ database: Database, _ sql: String = HistoryTable.insert(.sqlite)) throws {
        lastCall = try SQLRow(database, "SELECT max(serial) FROM call")
        lastLeg = try SQLRow(database, "SELECT max(serial) FROM leg")
        insert = try SQLRow(database, sql)
    }

    /// Runs `body`, which writes calls and legs in an open transaction, and inserts the new ones into histories. `body`
    /// must not delete any: SQLite gives a new row the serial after the greatest.
    func write(_ body: () throws -> Void) throws {
        let (call, leg) = (try Self.number(lastCall), try Self.number(lastLeg))
        try body()
        guard try Self.number(lastCall) != call || Self.number(lastLeg) != leg else { return }
        insert.bind(call)
        insert.bind(leg)
        try insert.run()
    }

    private static func number(_ last: SQLRow) throws(StoreFailure) -> Int64 {
        try last.first { row in row.int() } ?? 0
    }
}

@available(*, unavailable)
extension HistoryWriter: Sendable {}
