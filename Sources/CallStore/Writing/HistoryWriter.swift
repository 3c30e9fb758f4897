import GRDB
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
    init(_ database: Database, _ sql: String = HistoryWriter.insert) throws {
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

    /// Inserts calls after the serial `?1` and legs after the serial `?2`.
    ///
    /// Most calls are to one user, for whom the JSON functions are avoided. A call with `members` has exactly those
    /// callees, with or without a leg. The handles in `callee` are then no parties: an alias may belong to another user
    /// by the time the history is read.
    static let insert = """
        INSERT INTO call_party (user, created_at, call_serial)
        SELECT user, created_at, call_serial FROM (
            SELECT caller_user AS user, created_at, serial AS call_serial FROM call WHERE serial > ?1
            UNION ALL
            SELECT coalesce(callee ->> '$.user', ''), created_at, serial FROM call WHERE serial > ?1 AND members IS NULL
            UNION ALL
            SELECT value, created_at, serial FROM call, json_each(coalesce(members, callee -> '$.users'))
                WHERE serial > ?1 AND (members IS NOT NULL OR callee ->> '$.user' IS NULL)
            UNION ALL
            SELECT leg.user, call.created_at, call.serial FROM leg JOIN call ON call.serial = call_serial
                WHERE leg.serial > ?2
        ) WHERE user <> '' ORDER BY user, created_at, call_serial ON CONFLICT DO NOTHING
        """
}

@available(*, unavailable)
extension HistoryWriter: Sendable {}
