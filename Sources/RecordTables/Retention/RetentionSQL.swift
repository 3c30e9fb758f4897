/// The statements of ``RetentionDeleter``. Each reads through an index and touches a bounded number of rows.
package enum RetentionSQL {
    /// The next call by time, and whether it may be deleted: ended long ago, without an open push.
    package static let nextCall = """
        SELECT serial, created_at, id, state = 'ended' AND ended_at < ? AND NOT EXISTS (
            SELECT 1 FROM push WHERE call_serial = call.serial AND \(PushTable.isOpen)
        )
        FROM call WHERE (created_at, serial) > (?, ?) AND created_at < ? ORDER BY created_at, serial LIMIT 1
        """

    /// The next push by time, and whether it and its call are closed.
    package static let nextPush = """
        SELECT serial, intended_at, NOT \(PushTable.isOpenOrNull) AND NOT EXISTS (
            SELECT 1 FROM call WHERE call.serial = call_serial AND (state <> 'ended' OR ended_at >= ?)
        )
        FROM push WHERE (intended_at, serial) > (?, ?) AND intended_at < ? ORDER BY intended_at, serial LIMIT 1
        """

    /// The users whose histories may contain the call with the serial `?1`: see ``HistoryTable/insert(_:)``.
    private static func users(_ dialect: SQLDialect) -> String {
        switch dialect {
        case .sqlite:
            """
            SELECT caller_user AS user FROM call WHERE serial = ?1
            UNION SELECT part.atom FROM call, json_tree(call.callee) part
                WHERE call.serial = ?1 AND part.atom IS NOT NULL AND (part.key = 'user' OR part.path = '$.users')
            UNION SELECT part.value FROM call, json_each(call.members) part WHERE call.serial = ?1
            UNION SELECT user FROM leg WHERE call_serial = ?1
            """
        case .postgreSQL:
            """
            SELECT caller_user AS user FROM call WHERE serial = ?1
            UNION SELECT callee::json ->> 'user' FROM call WHERE serial = ?1
            UNION SELECT part.value FROM call, json_array_elements_text(callee::json -> 'users') part(value) WHERE serial = ?1
            UNION SELECT part.value FROM call, json_array_elements_text(members::json) part(value) WHERE serial = ?1
            UNION SELECT user FROM leg WHERE call_serial = ?1
            """
        }
    }

    /// Deletes history entries of the call with the serial `?1`, created at `?2`, at most `?3`. An index by call would
    /// cost each commit more than this query costs retention.
    package static func dropParties(_ dialect: SQLDialect) -> String {
        // SQLite keeps the order of tables in a cross join.
        let join = dialect == .sqlite ? "CROSS JOIN" : "JOIN"
        return """
            DELETE FROM call_party WHERE (user, created_at, call_serial) IN (
                SELECT party.user, party.created_at, party.call_serial FROM (\(users(dialect))) named \(join) call_party party
                    ON party.user = named.user AND party.created_at = ?2 AND party.call_serial = ?1
                LIMIT ?3
            )
            """
    }

    /// - Parameter key: the column that identifies the owner of the rows.
    package static func dropOfCall(_ table: String, by key: String, _ dialect: SQLDialect) -> String {
        switch dialect {
        case .sqlite: "DELETE FROM \(table) WHERE serial IN (SELECT serial FROM \(table) WHERE \(key) = ? LIMIT ?)"
        case .postgreSQL:
            "DELETE FROM \(table) WHERE ctid = ANY (ARRAY(SELECT ctid FROM \(table) WHERE \(key) = ? LIMIT ?))"
        }
    }

    /// The time of the oldest missed call that is among a user's newest.
    package static let oldestKeptMissed = "SELECT at FROM missed_call WHERE user = ? ORDER BY at DESC LIMIT 1 OFFSET ?"

    /// The oldest events stand first. In PostgreSQL their last position is recorded, so that it is not used again.
    package static func dropEvents(_ dialect: SQLDialect) -> String {
        switch dialect {
        case .sqlite:
            "DELETE FROM event WHERE position IN (SELECT position FROM event ORDER BY position LIMIT ?1) AND at < ?2"
        case .postgreSQL:
            """
            WITH old AS (
                SELECT position FROM (SELECT position, at FROM event ORDER BY position LIMIT ?1) first WHERE at < ?2
            ), noted AS (
                UPDATE event_position SET deleted = (SELECT max(position) FROM old) WHERE EXISTS (SELECT 1 FROM old)
            )
            DELETE FROM event WHERE position IN (SELECT position FROM old)
            """
        }
    }

    package static let dropMissed = """
        DELETE FROM missed_call WHERE (user, call) IN (
            SELECT user, call FROM missed_call WHERE user = ? AND at < ? ORDER BY at LIMIT ?
        )
        """
}
