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
        /// The database's clock less this machine's, in milliseconds.
        var clockOffset: Int64
    }

    struct Renewal {
        /// By this process's clock, less ``margin``.
        var validUntil: ContinuousClock.Instant
        /// Whether the lease was asked for, for another process.
        var isHandover: Bool
    }

    /// Another process's lease.
    private struct Other: Equatable {
        var address: String
        var epoch: Int64
        var milliseconds: Int64
    }

    private static let period = "interval '\(duration / .milliseconds(1)) milliseconds'"

    /// One statement: of two processes, the row's lock lets one pass. The update of `home` waits for a commit under way.
    /// During a hand-over the lease is kept for its successor for one more period.
    private static let take = """
        WITH taken AS (
            UPDATE lease SET epoch = epoch + 1, owner = ?1, address = ?2, until = now() + \(period), handover_to = NULL
            WHERE until <= now()
                AND (handover_to IS NULL OR handover_to = ?1 OR until <= now() - \(period)) RETURNING epoch
        )
        UPDATE home SET epoch = taken.epoch FROM taken RETURNING home.epoch
        """
    private static let clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
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
    private static let renew = """
        UPDATE lease SET until = now() + \(period) WHERE epoch = ? AND until > '-infinity' RETURNING handover_to IS NOT NULL
        """
    private static let giveBack = """
        UPDATE lease SET until = CASE WHEN handover_to IS NULL THEN '-infinity' ELSE now() END WHERE epoch = ?
        """

    /// Takes the lease. Waits for the end of the lease of a process that was killed.
    /// - Parameters:
    ///   - node: this process, for others.
    ///   - patience: how long to wait for a lease that is not renewed.
    /// - Throws: ``StoreFailure/Reason/livingHome`` for a process that renews its lease.
    static func take(
        _ connection: PostgresConnection, _ node: RealmNode, patience: Duration
    ) throws(StoreFailure) -> Term {
        let deadline = ContinuousClock.now + patience
        var first: Other?
        while true {
            let sent = ContinuousClock.now
            var parameters = PostgresParameters()
            parameters.bind(node.id)
            parameters.bind(node.place)
            if let epoch = try attempt(connection, parameters) {
                let validUntil = sent + duration - margin
                try endFormerHome(connection)
                return Term(epoch: epoch, validUntil: validUntil, clockOffset: try clockOffset(connection))
            }
            let row = try connection.run(look)
            let other = Other(
                address: row.text(0, 0) ?? "", epoch: row.int(0, 1) ?? 0, milliseconds: row.amount(0, 2) ?? 0)
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

    /// - Returns: nil when another process has the lease, or is about to renew it: a renewal that waits for the
    ///   database's synchronous standby holds the row's lock, and must not lose its place to this process.
    private static func attempt(
        _ connection: PostgresConnection, _ parameters: PostgresParameters
    ) throws(StoreFailure) -> Int64? {
        try connection.runSimple("SET lock_timeout = '1s'")
        let taken: Result<PostgresResult, StoreFailure>
        do throws(StoreFailure) {
            taken = .success(try connection.run(take, parameters))
        } catch {
            taken = .failure(error)
        }
        try connection.runSimple("RESET lock_timeout")
        if case .failure(let failure) = taken, failure.reason == .busy { return nil }
        return try taken.get().int(0, 0)
    }

    /// The database's clock less this machine's, in milliseconds, to half of a round trip.
    private static func clockOffset(_ connection: PostgresConnection) throws(StoreFailure) -> Int64 {
        let before = wallClock()
        let time = try connection.run(clock).amount(0, 0) ?? 0
        return time - (before + wallClock()) / 2
    }

    private static func endFormerHome(_ connection: PostgresConnection) throws(StoreFailure) {
        var names = PostgresParameters()
        for purpose in [PostgresJournal.purpose(), PostgresTables.purpose] {
            names.bind(purpose.applicationName(connection.address))
        }
        try connection.run(endFormer, names)
    }

    /// - Returns: nil when another process has taken the lease.
    static func renew(_ connection: PostgresConnection, _ epoch: Int64) throws(StoreFailure) -> Renewal? {
        let sent = ContinuousClock.now
        var parameters = PostgresParameters()
        parameters.bind(epoch)
        guard let isHandover = try connection.run(renew, parameters).int(0, 0) else { return nil }
        return Renewal(validUntil: sent + duration - margin, isHandover: isHandover == 1)
    }

    private static func wallClock() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    private static let watch = """
        SELECT coalesce(address, ''), until <= now() AND (
            handover_to IS NULL OR handover_to = ?1 OR until <= now() - \(period)) AND NOT EXISTS (
                SELECT 1 FROM pg_stat_activity
                WHERE wait_event = 'SyncRep' AND application_name = ?2 AND datname = current_database()) FROM lease
        """
    /// The name of the connection that renews the lease.
    static let keeperName = "reveille lease"

    /// What a standby sees of the lease. It is not free while its renewal waits for the database's synchronous standby:
    /// the home may live, and goes on when that one is back.
    static func sight(_ connection: PostgresConnection, _ node: RealmNode) throws(StoreFailure) -> RealmSight {
        var parameters = PostgresParameters()
        parameters.bind(node.id)
        let keeper = PostgresConnection.Purpose(name: keeperName, patience: .zero)
        parameters.bind(keeper.applicationName(connection.address))
        let row = try connection.run(watch, parameters)
        return row.int(0, 1) == 1 ? .free : .home(row.text(0, 0) ?? "")
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
