import CallVocabulary
import Glibc
import StoreInterface

/// The SQL of the lease that makes a process the home of a realm.
///
/// The clock of the database decides when a lease ends. The home counts with its own monotonic clock, from before the
/// renewal was sent, so that it is never later.
package enum Lease {
    package static let duration = Duration.seconds(3)
    static let renewal = Duration.milliseconds(500)
    /// Nothing is released within this time of the end.
    static let margin = Duration.milliseconds(300)
    private static let betweenTries = Duration.milliseconds(100)

    struct Term {
        var epoch: Int64
        var validUntil: ContinuousClock.Instant
    }

    /// Another process's lease.
    private struct Other: Equatable {
        var address: String
        var epoch: Int64
        var milliseconds: Int64
    }

    private static let period = "interval '\(duration / .milliseconds(1)) milliseconds'"

    /// One statement: of two processes, the row's lock lets one pass. The update of `home` waits for a commit under way.
    private static let take = """
        WITH taken AS (
            UPDATE lease SET epoch = epoch + 1, owner = ?1, address = ?2, until = now() + \(period), handover_to = NULL
            WHERE until <= now() OR handover_to = ?1 RETURNING epoch
        )
        UPDATE home SET epoch = taken.epoch FROM taken RETURNING home.epoch
        """
    private static let look = """
        SELECT coalesce(address, ''), epoch,
            CASE WHEN until <= now() THEN 0 ELSE (extract(epoch FROM until - now()) * 1000)::bigint END FROM lease
        """
    /// Ends the connections of the former home, which may hold locks although its process is stopped. The names are those
    /// of `PostgresConnection.Purpose`.
    private static let endFormer = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name IN (?, ?) AND datname = current_database() AND usename = current_user
            AND pid <> pg_backend_pid()
        """
    private static let renew = "UPDATE lease SET until = now() + \(period) WHERE epoch = ? AND until > '-infinity'"
    private static let giveBack = "UPDATE lease SET until = '-infinity' WHERE epoch = ?"

    /// Takes the lease. Waits for the end of the lease of a process that was killed.
    /// - Parameters:
    ///   - address: where this process is found, for others.
    ///   - patience: how long to wait for a lease that is not renewed.
    /// - Throws: ``StoreFailure/Reason/livingHome`` for a process that renews its lease.
    static func take(
        _ connection: PostgresConnection, address: String, patience: Duration
    ) throws(StoreFailure) -> Term {
        let owner = Identifier<LeaseOwner>.random()
        let deadline = ContinuousClock.now + patience
        var first: Other?
        while true {
            let sent = ContinuousClock.now
            var parameters = PostgresParameters()
            parameters.bind(owner)
            parameters.bind(address)
            if let epoch = try connection.run(take, parameters).int(0, 0) {
                try endFormerHome(connection)
                return Term(epoch: epoch, validUntil: sent + duration - margin)
            }
            let row = try connection.run(look)
            let other = Other(
                address: row.text(0, 0) ?? "", epoch: row.int(0, 1) ?? 0, milliseconds: row.int(0, 2) ?? 0)
            let isRenewed = first.map { $0.epoch != other.epoch || $0.milliseconds < other.milliseconds } ?? false
            guard !isRenewed, ContinuousClock.now < deadline else {
                throw StoreFailure(
                    .livingHome, path: connection.path,
                    detail: "the realm's home is \(other.address); its lease ends in \(other.milliseconds) ms")
            }
            first = other
            usleep(UInt32(min(betweenTries, .milliseconds(other.milliseconds + 1)) / .microseconds(1)))
        }
    }

    private static func endFormerHome(_ connection: PostgresConnection) throws(StoreFailure) {
        var names = PostgresParameters()
        for purpose in [PostgresJournal.purpose(), PostgresTables.purpose] {
            names.bind(purpose.applicationName(connection.address))
        }
        try connection.run(endFormer, names)
    }

    /// - Returns: the end by this process's clock, less ``margin``; nil when another process has taken the lease.
    static func renew(
        _ connection: PostgresConnection, _ epoch: Int64
    ) throws(StoreFailure) -> ContinuousClock.Instant? {
        let sent = ContinuousClock.now
        var parameters = PostgresParameters()
        parameters.bind(epoch)
        guard try connection.run(renew, parameters).changedCount == 1 else { return nil }
        return sent + duration - margin
    }

    /// Whether some process is the home.
    static func isHeld(_ connection: PostgresConnection) throws(StoreFailure) -> Bool {
        try connection.run("SELECT until > now() FROM lease").int(0, 0) == 1
    }

    static func giveBack(_ connection: PostgresConnection, _ epoch: Int64) throws(StoreFailure) {
        var parameters = PostgresParameters()
        parameters.bind(epoch)
        try connection.run(giveBack, parameters)
    }
}

/// The subject of a lease's owner.
enum LeaseOwner {}
