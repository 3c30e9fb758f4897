import StoreInterface

/// Finds a connection pooler, such as PgBouncer, that gives a client another session of the database for each
/// transaction (`pool_mode = transaction`) or statement. The settings and the prepared statements of the store's
/// connections would be those of others then.
enum PoolerCheck {
    /// What is wrong, for failures.
    static let fault = "a connection pooler gives each transaction another session of the database"
    /// Other clients of the pooler may take a free session before the check does.
    private static let rounds = 8
    private static let purpose = PostgresConnection.Purpose(name: "reveille check", patience: .seconds(3))

    /// A pooler that gives a client one session for as long as it is connected is fine: no other client ever has that
    /// session. Otherwise the next one who asks gets it.
    /// - Throws: ``StoreFailure/Reason/unsuitableDatabase``.
    static func run(_ connection: PostgresConnection) throws(StoreFailure) {
        let failure = StoreFailure(.unsuitableDatabase, path: connection.path, detail: fault)
        let first = try session(of: connection)
        guard first != "\(connection.toldSession)" else { return }
        let other = try PostgresConnection(connection.address, purpose)
        for _ in 0..<rounds {
            let own = try session(of: connection)
            do throws(StoreFailure) {
                try other.runSimple("BEGIN")
            } catch {
                // With `pool_mode = statement` PgBouncer ends the connection then. The database answers.
                _ = try session(of: connection)
                throw failure
            }
            guard own == first, try session(of: other) != own else { throw failure }
            try other.runSimple("COMMIT")
        }
    }

    private static func session(of connection: PostgresConnection) throws(StoreFailure) -> String {
        try connection.text("SELECT pg_backend_pid()") ?? ""
    }
}
