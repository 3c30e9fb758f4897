import StoreInterface

/// Reads the database's settings and standby servers.
enum DatabaseState {
    private static let standbys = "SELECT 1 FROM pg_stat_replication WHERE application_name <> 'pg_basebackup'"
    /// Each column is false where a ``DatabaseWarning`` holds, in their order.
    private static let statement = """
        SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
            current_setting('synchronous_standby_names') <> '' OR NOT EXISTS (\(standbys)),
            NOT EXISTS (
                SELECT 1 FROM pg_stat_activity
                WHERE wait_event = 'SyncRep' AND state_change < now() - interval '1 second')
        """

    static func warnings(_ connection: PostgresConnection) throws(StoreFailure) -> [DatabaseWarning] {
        let row = try connection.run(statement)
        return DatabaseWarning.allCases.filter { row.int(0, Int32($0.rawValue)) == 0 }
    }

    static func standbyCount(_ connection: PostgresConnection) throws(StoreFailure) -> Int {
        Int(try connection.run("SELECT count(*) FROM (\(standbys)) standby").int(0, 0) ?? 0)
    }
}
