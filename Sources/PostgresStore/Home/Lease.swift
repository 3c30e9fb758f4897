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
        var key: TermKey
        var validUntil: ContinuousClock.Instant
        /// The database's clock at the boot of this machine, in milliseconds.
        var clockOrigin: Int64
    }

    struct Renewal {
        /// By this process's clock, less ``margin``.
        var validUntil: ContinuousClock.Instant
        /// Whether the lease was asked for, for another process.
        var isHandover: Bool
        /// As in ``Term``; nil when the answer took too long.
        var clockOrigin: Int64?
    }

    /// Another process's lease.
    private struct Other: Equatable {
        var address: String
        var epoch: Int64
        var milliseconds: Int64
    }

    private static let period = "interval '\(duration / .milliseconds(1)) milliseconds'"

    /// Whether the node ?1 may take the lease. During a hand-over it is kept for its successor for one more period.
    private static let isFree =
        "until <= now() AND (handover_to IS NULL OR handover_to = ?1 OR until <= now() - \(period))"
    /// One statement: of two processes, the row's lock lets one pass. The update of `home` waits for a commit under way.
    private static let take = """
        WITH taken AS (
            UPDATE lease SET epoch = epoch + 1, term = ?3, owner = ?1, address = ?2, until = now() + \(period),
                handover_to = NULL
            WHERE \(isFree) RETURNING epoch, term
        )
        UPDATE home SET epoch = taken.epoch, term = taken.term FROM taken RETURNING home.epoch
        """
    private static let clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    /// The longest round trip, in milliseconds, that tells the database's clock. Two of them differ by less than the
    /// smallest step of a clock, half a second.
    private static let longestClockTrip: Int64 = 250
    /// An end at infinity, which an administrator may have written, has no distance.
    private static let look = """
        SELECT coalesce(address, ''), epoch, CASE WHEN until <= now() THEN 0
            ELSE (extract(epoch FROM least(until, now() + interval '1 day') - now()) * 1000)::bigint END FROM lease
        """
    /// Take-overs do not reach this number.
    private static let longestEpoch: Int64 = 1 << 53
    private static let rows = """
        SELECT (SELECT count(*) FROM lease), (SELECT count(*) FROM home),
            (SELECT count(*) FROM lease WHERE epoch NOT BETWEEN 0 AND \(longestEpoch))
        """
    /// Ends the connections of the former home, which may hold locks although its process is stopped. The names are those
    /// of `PostgresConnection.Purpose`.
    private static let endFormer = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name IN (?, ?) AND datname = current_database() AND usename = current_user
            AND pid <> pg_backend_pid()
        """
    /// Without a row of `home` no commit succeeds, so that the lease ends also while nothing is committed.
    private static let renew = """
        UPDATE lease SET until = now() + \(period)
        WHERE epoch = ? AND term = ? AND until > '-infinity' AND EXISTS (SELECT 1 FROM home)
        RETURNING handover_to IS NOT NULL, \(clock)
        """
    private static let giveBack = """
        UPDATE lease SET until = CASE WHEN handover_to IS NULL THEN '-infinity' ELSE now() END
        WHERE epoch = ? AND term = ?
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
            if let key = try attempt(connection, node) {
                let validUntil = sent + duration - margin
                try endFormerHome(connection)
                return Term(key: key, validUntil: validUntil, clockOrigin: try clockOrigin(connection))
            }
            let row = try connection.run(look)
            // The next attempt tells it.
            guard row.rowCount == 1 else { continue }
            let other = Other(
                address: row.words(0, 0) ?? "", epoch: row.int(0, 1) ?? 0, milliseconds: row.amount(0, 2) ?? 0)
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
    /// - Throws: ``StoreFailure/Reason/noSynchronousStandby`` for a take-over whose wait for the standby was cancelled. It
    ///   is none: a standby that is promoted may give its number to another process. Nobody renews it.
    private static func attempt(
        _ connection: PostgresConnection, _ node: RealmNode
    ) throws(StoreFailure) -> TermKey? {
        try connection.runSimple("SET lock_timeout = '1s'")
        let taken: Result<TermKey?, StoreFailure>
        do throws(StoreFailure) {
            let version = try PostgresSchema.knownVersion(connection) ?? 0
            if let found = try damage(connection) { throw found }
            taken = .success(
                try connection.replicated { () throws(StoreFailure) in
                    try version < PostgresSchema.firstWithTerms
                        ? takeAndMigrate(connection, node) : takeOnce(connection, node)
                })
        } catch {
            taken = .failure(error)
        }
        try connection.runSimple("RESET lock_timeout")
        if case .failure(let failure) = taken, failure.reason == .busy { return nil }
        return try taken.get()
    }

    /// Why no process can become the home, whatever it waits for: an administrator, or a restore of a part of the tables,
    /// has left no row. nil for nothing.
    private static func damage(_ connection: PostgresConnection) throws(StoreFailure) -> StoreFailure? {
        let row = try connection.run(rows)
        if row.int(0, 0) != 1 { return rowless("lease", connection) }
        if row.int(0, 1) != 1 { return rowless("home", connection) }
        guard row.int(0, 2) != 0 else { return nil }
        return StoreFailure(
            .corrupted, path: connection.path,
            detail: "lease.epoch is no number of a take-over; with all servers of the realm stopped, its schema takes "
                + "UPDATE lease SET epoch = home.epoch, until = '-infinity' FROM home")
    }

    private static func rowless(_ table: String, _ connection: PostgresConnection) -> StoreFailure {
        let repair =
            table == "lease"
            ? "; with all servers of the realm stopped, its schema takes INSERT INTO lease (epoch, until) "
                + "SELECT epoch, '-infinity' FROM home" : ""
        return StoreFailure(
            .corrupted, path: connection.path,
            detail: "the table \(table) has no row, so that no server can become the realm's home\(repair)")
    }

    private static func takeOnce(_ connection: PostgresConnection, _ node: RealmNode) throws(StoreFailure) -> TermKey? {
        let id = Identifier<TermKey>.random()
        var parameters = PostgresParameters()
        parameters.bind(node.id)
        parameters.bind(node.place)
        parameters.bind(id)
        return try connection.run(take, parameters).int(0, 0).map { TermKey(epoch: $0, id: id) }
    }

    /// Takes the lease of tables of an earlier version, which have no ids of terms, and migrates them in the same
    /// transaction: the tables of a home of that version stay as they are.
    private static func takeAndMigrate(
        _ connection: PostgresConnection, _ node: RealmNode
    ) throws(StoreFailure) -> TermKey? {
        var parameters = PostgresParameters()
        parameters.bind(node.id)
        guard try connection.run("SELECT 1 FROM lease WHERE \(isFree)", parameters).rowCount == 1 else { return nil }
        try connection.runSimple("BEGIN")
        do throws(StoreFailure) {
            // Before the row's lock: a renewal that waits for the row has locked the table.
            try connection.runSimple("LOCK TABLE lease, home, journal IN ACCESS EXCLUSIVE MODE")
            try PostgresSchema.migrateInTransaction(connection)
            let key = try takeOnce(connection, node)
            try connection.runSimple(key == nil ? "ROLLBACK" : "COMMIT")
            return key
        } catch {
            connection.rollBack()
            throw error
        }
    }

    /// The database's clock at the boot of this machine, in milliseconds, to half of a round trip. Setting this machine's
    /// clock does not change it.
    private static func clockOrigin(_ connection: PostgresConnection) throws(StoreFailure) -> Int64 {
        let before = timeSinceBoot()
        let time = try connection.run("SELECT \(clock)").amount(0, 0) ?? 0
        return time - (before + timeSinceBoot()) / 2
    }

    private static func endFormerHome(_ connection: PostgresConnection) throws(StoreFailure) {
        var names = PostgresParameters()
        for purpose in [PostgresJournal.purpose(), PostgresTables.purpose] {
            names.bind(purpose.applicationName(connection.address))
        }
        try connection.run(endFormer, names)
    }

    /// - Returns: nil when another process has taken the lease.
    static func renew(_ connection: PostgresConnection, _ key: TermKey) throws(StoreFailure) -> Renewal? {
        let (sent, before) = (ContinuousClock.now, timeSinceBoot())
        var parameters = PostgresParameters()
        parameters.bind(key)
        let row = try connection.replicated { () throws(StoreFailure) in try connection.run(renew, parameters) }
        guard let isHandover = row.int(0, 0) else {
            if let found = try damage(connection) { throw found }
            return nil
        }
        let after = timeSinceBoot()
        let time = after - before <= longestClockTrip ? row.amount(0, 1) : nil
        return Renewal(
            validUntil: sent + duration - margin, isHandover: isHandover == 1,
            clockOrigin: time.map { $0 - (before + after) / 2 })
    }

    /// In milliseconds, with the time in which the machine was suspended.
    private static func timeSinceBoot() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// What a standby sees of the lease.
    struct Sighting {
        var sight: RealmSight
        /// What each renewal changes; nil while one waits for the database's synchronous standby.
        var mark: Mark?
    }

    struct Mark: Equatable {
        var epoch: Int64
        var until: String
    }

    private static let watch = """
        SELECT coalesce(address, ''), \(isFree), EXISTS (
                SELECT 1 FROM pg_stat_activity
                WHERE wait_event = 'SyncRep' AND application_name = ?2 AND datname = current_database()),
            epoch, until::text, (SELECT count(*) FROM home) FROM lease
        """
    private static let endUnrenewed =
        "UPDATE lease SET until = now() WHERE epoch = ? AND until::text = ? AND until > now()"
    /// The name of the connection that renews the lease.
    static let keeperName = "reveille lease"

    /// What a standby sees of the lease. It is not free while its renewal waits for the database's synchronous standby:
    /// the home may live, and goes on when that one is back.
    static func sight(_ connection: PostgresConnection, _ node: RealmNode) throws(StoreFailure) -> Sighting {
        var parameters = PostgresParameters()
        parameters.bind(node.id)
        let keeper = PostgresConnection.Purpose(name: keeperName, patience: .zero)
        parameters.bind(keeper.applicationName(connection.address))
        let row = try connection.run(watch, parameters)
        guard row.rowCount == 1 else { throw rowless("lease", connection) }
        guard row.int(0, 5) == 1 else { throw rowless("home", connection) }
        let isWaiting = row.int(0, 2) == 1
        return Sighting(
            sight: row.int(0, 1) == 1 && !isWaiting ? .free : .home(row.words(0, 0) ?? ""),
            mark: isWaiting ? nil : Mark(epoch: row.int(0, 3) ?? 0, until: row.text(0, 4) ?? ""))
    }

    /// Ends a lease that the caller has seen unrenewed for longer than its duration. By the database's clock it goes on
    /// when that is now another machine's, after a promotion, or was set back. A renewal that comes first keeps it.
    static func endUnrenewed(_ mark: Mark, _ connection: PostgresConnection) throws(StoreFailure) {
        var parameters = PostgresParameters()
        parameters.bind(mark.epoch)
        parameters.bind(mark.until)
        try connection.run(endUnrenewed, parameters)
    }

    /// Whether some process is the home.
    static func isHeld(_ connection: PostgresConnection) throws(StoreFailure) -> Bool {
        try connection.run("SELECT until > now() FROM lease").int(0, 0) == 1
    }

    static func giveBack(_ connection: PostgresConnection, _ key: TermKey) throws(StoreFailure) {
        var parameters = PostgresParameters()
        parameters.bind(key)
        try connection.run(giveBack, parameters)
    }
}
