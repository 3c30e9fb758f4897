/// The calls in users' histories: one row for each call and party.
package enum HistoryTable {
    /// Joined by time as well: the serial of a deleted call may have been reused.
    package static let join =
        " JOIN call_party party ON party.call_serial = call.serial AND party.created_at = call.created_at"
    package static let order = "party.created_at DESC, party.call_serial DESC"

    /// Inserts calls after the serial `?1` and legs after the serial `?2` into the histories of their parties: the
    /// caller, the users named when the call is first written, and all users with a leg.
    ///
    /// Most calls are to one user, for whom the JSON functions are avoided. A call with `members` has exactly those
    /// callees, with or without a leg. The handles in `callee` are then no parties: an alias may belong to another user
    /// by the time the history is read.
    package static func insert(_ dialect: SQLDialect) -> String {
        let (user, list) =
            switch dialect {
            case .sqlite: ("callee ->> '$.user'", "json_each(coalesce(members, callee -> '$.users'))")
            case .postgreSQL:
                (
                    "callee::json ->> 'user'",
                    "json_array_elements_text(coalesce(members::json, callee::json -> 'users')) named(value)"
                )
            }
        return """
            INSERT INTO call_party (user, created_at, call_serial)
            SELECT user, created_at, call_serial FROM (
                SELECT caller_user AS user, created_at, serial AS call_serial FROM call WHERE serial > ?1
                UNION ALL
                SELECT coalesce(\(user), ''), created_at, serial FROM call WHERE serial > ?1 AND members IS NULL
                UNION ALL
                SELECT value, created_at, serial FROM call, \(list)
                    WHERE serial > ?1 AND (members IS NOT NULL OR \(user) IS NULL)
                UNION ALL
                SELECT leg.user, call.created_at, call.serial FROM leg JOIN call ON call.serial = call_serial
                    WHERE leg.serial > ?2
            ) \(dialect == .sqlite ? "" : "party ")WHERE user <> '' ORDER BY user, created_at, call_serial ON CONFLICT DO NOTHING
            """
    }
}
