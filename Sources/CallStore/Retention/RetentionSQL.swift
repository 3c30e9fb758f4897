/// The statements of ``RetentionDeleter``. Each reads through an index and touches a bounded number of rows.
enum RetentionSQL {
    /// The next call by time, and whether it may be deleted: ended long ago, without an open push.
    static let nextCall = """
        SELECT serial, created_at, id, state = 'ended' AND ended_at < ? AND NOT EXISTS (
            SELECT 1 FROM push WHERE call_serial = call.serial AND \(PushTable.isOpen)
        )
        FROM call WHERE (created_at, serial) > (?, ?) AND created_at < ? ORDER BY created_at, serial LIMIT 1
        """

    /// The next push by time, and whether it and its call are closed.
    static let nextPush = """
        SELECT serial, intended_at, NOT \(PushTable.isOpenOrNull) AND NOT EXISTS (
            SELECT 1 FROM call WHERE call.serial = call_serial AND (state <> 'ended' OR ended_at >= ?)
        )
        FROM push WHERE (intended_at, serial) > (?, ?) AND intended_at < ? ORDER BY intended_at, serial LIMIT 1
        """

    /// The users whose histories may contain the call with the serial `?1`: see ``HistoryWriter``, which inserts them.
    private static let users = """
        SELECT caller_user AS user FROM call WHERE serial = ?1
        UNION SELECT part.atom FROM call, json_tree(call.callee) part
            WHERE call.serial = ?1 AND part.atom IS NOT NULL AND (part.key = 'user' OR part.path = '$.users')
        UNION SELECT part.value FROM call, json_each(call.members) part WHERE call.serial = ?1
        UNION SELECT user FROM leg WHERE call_serial = ?1
        """

    /// Deletes history entries of the call with the serial `?1`, created at `?2`, at most `?3`. An index by call would
    /// cost each commit more than this query costs retention.
    static let dropParties = """
        DELETE FROM call_party WHERE (user, created_at, call_serial) IN (
            SELECT party.user, party.created_at, party.call_serial FROM (\(users)) named CROSS JOIN call_party party
                ON party.user = named.user AND party.created_at = ?2 AND party.call_serial = ?1
            LIMIT ?3
        )
        """

    /// - Parameter key: the column that identifies the owner of the rows.
    static func dropOfCall(_ table: String, by key: String) -> String {
        "DELETE FROM \(table) WHERE serial IN (SELECT serial FROM \(table) WHERE \(key) = ? LIMIT ?)"
    }

    /// The time of the oldest missed call that is among a user's newest.
    static let oldestKeptMissed = "SELECT at FROM missed_call WHERE user = ? ORDER BY at DESC LIMIT 1 OFFSET ?"

    /// The oldest events stand first.
    static let dropEvents = """
        DELETE FROM event WHERE position IN (SELECT position FROM event ORDER BY position LIMIT ?1) AND at < ?2
        """

    static let dropMissed = """
        DELETE FROM missed_call WHERE (user, call) IN (
            SELECT user, call FROM missed_call WHERE user = ? AND at < ? ORDER BY at LIMIT ?
        )
        """
}
