import StoreInterface

/// Finds that commits wait because PostgreSQL's synchronous standby server is away.
///
/// Such a commit is not answered, and holds its locks, so that later ones fail as if the tables were locked.
enum SynchronousStandby {
    private static let purpose = PostgresConnection.Purpose(name: "reveille cause", patience: .seconds(2))

    /// - Parameter failure: of a statement on a connection that was established.
    /// - Returns: the failure that names the cause; `failure` itself if it has another.
    static func explain(_ failure: StoreFailure, _ address: PostgresAddress) -> StoreFailure {
        guard failure.reason == .unreachable || failure.reason == .busy,
            let connection = try? PostgresConnection(address, purpose), (try? isAwaited(connection)) == true
        else { return failure }
        // Of several, an old primary server that was started again by mistake would be another one than expected.
        let place = address.uri.contains(",") ? connection.host.map { " at \($0)" } ?? "" : ""
        return StoreFailure(
            .noSynchronousStandby, path: address.description,
            detail: "the database\(place) waits for its synchronous standby server")
    }

    private static func isAwaited(_ connection: PostgresConnection) throws(StoreFailure) -> Bool {
        try connection.run(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE wait_event = 'SyncRep' AND usename = current_user AND datname = current_database()
            """
        ).int(0, 0) ?? 0 > 0
    }
}
