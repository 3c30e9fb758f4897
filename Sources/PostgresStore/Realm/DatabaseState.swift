import StoreInterface

/// What of a database's settings may lose acknowledged commits, or keeps commits waiting, with advice.
enum DatabaseDoubts {
    private static let statement = """
        SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
            current_setting('synchronous_standby_names') <> '' OR NOT EXISTS (
                SELECT 1 FROM pg_stat_replication WHERE application_name <> 'pg_basebackup'),
            NOT EXISTS (
                SELECT 1 FROM pg_stat_activity
                WHERE wait_event = 'SyncRep' AND state_change < now() - interval '1 second')
        """
    private static let texts = [
        "fsync is off: a crash of the database's machine may lose commits and damage the database; set it to on",
        "full_page_writes is off: a crash may damage the database; set it to on",
        "a standby is asynchronous, and lacks the last commits when it is promoted; set synchronous_standby_names",
        "commits wait for a synchronous standby server that is away; start it, or see synchronous_standby_names",
    ]

    static func find(_ connection: PostgresConnection) throws(StoreFailure) -> [String] {
        let row = try connection.run(statement)
        return texts.enumerated().filter { row.int(0, Int32($0.offset)) == 0 }.map(\.element)
    }
}
