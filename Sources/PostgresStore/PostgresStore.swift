import CallCore
import CallVocabulary
import DequeModule
import Glibc
import RecordTables
import StoreInterface

/// The durable state of one realm in PostgreSQL, with the lease that makes this process its home.
///
/// Once ``commit(_:)`` has returned, its records survive whatever the database survives. A store belongs to one thread:
/// the one that opened it, until it is passed to a ``PostgresCommitter``.
package final class PostgresStore {
    private struct Behind {
        var commit: Int64
        var at: ContinuousClock.Instant
        var records: Int
    }

    /// A commit that is being written. Until it is known to be, it is repeated unchanged: an earlier attempt may have
    /// been executed.
    private struct Attempt {
        var commit: NumberedCommit
        var isAmbiguous = false
    }

    package let address: PostgresAddress
    let lease: LeaseState
    let tables: PostgresTables
    private let journal: PostgresJournal
    /// Runs until a ``PostgresCommitter`` or ``close()`` ends it.
    let keeper: LeaseKeeper
    /// Called after each attempt to renew the lease, on any thread.
    let onLease: LeaseListener
    private var encoder = RecordEncoder()
    /// The number of the last commit.
    private var last: Int64
    private var attempt: Attempt?
    /// Commits that are not applied to the tables yet, oldest first.
    private var behind = Deque<Behind>()
    /// The number of records in those commits.
    private(set) var behindCount = 0
    private var isClosed = false

    private init(
        _ address: PostgresAddress, lease: LeaseState, keeper: LeaseKeeper, onLease: LeaseListener,
        journal: PostgresJournal, last: Int64, settled: Int64
    ) {
        self.address = address
        self.lease = lease
        self.keeper = keeper
        self.onLease = onLease
        self.journal = journal
        self.last = last
        tables = PostgresTables(address, lease.key, settled: settled)
    }

    deinit { close() }

    /// Opens the realm's store: makes or migrates its tables, becomes the realm's home, and applies the commits that a
    /// killed home has left.
    /// - Parameters:
    ///   - node: this process, for others that find it as the home.
    ///   - patience: how long to wait for the end of the lease of a home that was killed.
    /// - Throws: ``StoreFailure``: ``StoreFailure/Reason/livingHome`` when another process is the home.
    package static func open(
        _ address: PostgresAddress, _ node: RealmNode, patience: Duration = longestLease
    ) throws(StoreFailure) -> PostgresStore {
        try open(address, node, patience: patience, commitPatience: PostgresJournal.patience)
    }

    /// Opens the realm's store for a process that no other takes the lease from.
    /// - Parameter name: where this process is found.
    package static func open(
        _ address: PostgresAddress, name: String, patience: Duration = longestLease
    ) throws(StoreFailure) -> PostgresStore {
        try open(address, RealmNode(name: name), patience: patience)
    }

    /// How long to wait for the lease of a home that was killed.
    package static let longestLease = Lease.duration + .milliseconds(500)

    /// - Parameter commitPatience: the longest wait for the answer to a commit.
    static func open(
        _ address: PostgresAddress, _ node: RealmNode, patience: Duration = longestLease, commitPatience: Duration
    ) throws(StoreFailure) -> PostgresStore {
        // Its name differs from those of a home's connections, because a take-over ends those.
        let connection = try PostgresConnection(
            address,
            PostgresConnection.Purpose(
                name: "reveille start", patience: .seconds(30), setup: [PostgresConnection.limitsIdleTransactions]))
        try PoolerCheck.run(connection)
        // The lease is in the tables. Later versions of them are made by the home only.
        if try PostgresSchema.knownVersion(connection) == nil { try PostgresSchema.migrate(connection) }
        let term: Lease.Term
        do throws(StoreFailure) {
            term = try Lease.take(connection, node, patience: patience)
        } catch {
            throw SynchronousStandby.explain(error, address)
        }
        let lease = LeaseState(term)
        let onLease = LeaseListener()
        let keeper = try LeaseKeeper(address, node, lease) { onLease.call() }
        do {
            try PostgresSchema.migrate(connection)
            keeper.beat()
            let ends = try PostgresJournal.ends(connection)
            let journal = PostgresJournal(
                address, term.key, connection: try PostgresJournal.connect(address, patience: commitPatience),
                patience: commitPatience)
            let store = PostgresStore(
                address, lease: lease, keeper: keeper, onLease: onLease, journal: journal, last: ends.last,
                settled: ends.settled)
            try store.replay(within: patience)
            return store
        } catch {
            keeper.stop(givesBack: true)
            throw error
        }
    }

    /// Applies the journal to the tables. The former home may still be doing so, until its connections have ended.
    private func replay(within patience: Duration) throws(StoreFailure) {
        let deadline = ContinuousClock.now + patience
        while true {
            do throws(StoreFailure) {
                return try tables.replay(through: last)
            } catch {
                let isMeanwhile = if case .postgreSQL = error.reason { true } else { error.reason == .busy }
                guard isMeanwhile, ContinuousClock.now < deadline else { throw error }
            }
            usleep(50_000)
        }
    }

    /// What of the database may lose acknowledged commits or keeps them waiting.
    package func warnings() throws(StoreFailure) -> [DatabaseWarning] {
        try DatabaseState.warnings(PostgresJournal.connect(address))
    }

    /// Writes `records` in one transaction: on return all are durable, and in the tables.
    /// - Returns: how many rows were written.
    @discardableResult
    package func commit(_ records: [StoreRecord]) throws(StoreFailure) -> Int {
        try write([records])
        return try catchUp()
    }

    /// A commit with this much takes no further batch: it has to be sent within the patience for one commit.
    private static let bytesPerCommit = 4 << 20

    /// Makes the first of the batches durable, as one commit.
    ///
    /// After a failure repeat it, with batches of the same records first: what is written is the commit that failed.
    /// - Returns: how many batches the commit has, at least one.
    @discardableResult
    func write(_ batches: [[StoreRecord]]) throws(StoreFailure) -> Int {
        var attempt =
            self.attempt
            ?? Attempt(
                commit: NumberedCommit(
                    number: last + 1, records: encoder.encode(batches, upTo: Self.bytesPerCommit)))
        self.attempt = attempt
        let number = attempt.commit.number
        do throws(StoreFailure) {
            var isWritten = false
            if attempt.isAmbiguous { isWritten = try journal.outcome(of: number) == .written }
            if !isWritten {
                try attempt.commit.records.chunk.withBytes { (operations) throws(StoreFailure) in
                    try journal.append(number, operations)
                }
            }
        } catch {
            attempt.isAmbiguous = true
            self.attempt = attempt
            if error.reason == .fenced || error.reason == .lostCommits { throw lease.end(error) }
            throw error
        }
        self.attempt = nil
        last = number
        let records = attempt.commit.records.ends.count
        behind.append(Behind(commit: number, at: .now, records: records))
        behindCount += records
        tables.add(attempt.commit)
        return attempt.commit.records.batches.count
    }

    /// Applies all commits to the tables.
    /// - Returns: how many rows were written.
    @discardableResult
    func catchUp() throws(StoreFailure) -> Int {
        var rows = 0
        while behindSince != nil {
            let settled = try tables.catchUp(records: .max)
            note(settled)
            rows += settled?.rows ?? 0
        }
        return rows
    }

    func note(_ settled: Settled?) {
        guard let settled else { return }
        while let first = behind.first, first.commit <= settled.through {
            behindCount -= first.records
            behind.removeFirst()
        }
    }

    /// The first commit that is not applied to the tables; nil when all are. ``lastBehind`` is the last.
    var firstBehind: Int64? { behind.first?.commit }
    var lastBehind: Int64? { behind.last?.commit }
    /// Since when commits wait to be applied to the tables; nil when none does.
    var behindSince: ContinuousClock.Instant? { behind.first?.at }

    /// Runs SQL on the realm's tables, for tests and benchmarks.
    package static func execute(_ sql: String, in address: PostgresAddress) throws(StoreFailure) {
        try PostgresJournal.connect(address).runSimple(StatementText(sql).sql)
    }

    package var retentionTables: any RetentionTables { tables }

    /// Reads everything that has not ended: see `CallStore.recover()`. Call it once, before the first commit.
    package func recover() throws(StoreFailure) -> RecoveredState {
        try catchUp()
        let reader = PostgresReader(address)
        defer { reader.close() }
        return try reader.recover()
    }

    /// Applies the journal to the tables, gives the lease back and closes the connections. No effect on a closed store.
    package func close() {
        closeConnections()
        keeper.stop(givesBack: true)
    }

    /// Calls `tell` once when this process has to stop being the home, on any thread, at once if it has to already.
    package func whenTermEnds(_ tell: @escaping @Sendable (TermEnd) -> Void) { lease.whenTermEnds(tell) }

    /// The term as the home, and what is left of the lease by this process's clock.
    package var term: TermView { TermView(lease) }

    /// Applies the journal as far as that succeeds; the next home applies the rest.
    func closeConnections() {
        guard !isClosed else { return }
        isClosed = true
        if case .held = lease.standing() { _ = try? catchUp() }
        tables.close()
        journal.close()
    }
}

extension PostgresStore: CopiedStore {
    package var place: String { "\(address)" }

    package func inTransaction<Value>(
        _ body: (TableQueries<PostgresStatements>) throws -> Value
    ) throws(StoreFailure) -> Value {
        try catchUp()
        let connection = try PostgresConnection(
            address, PostgresConnection.Purpose(name: "reveille copy", patience: .seconds(3600)))
        try connection.runSimple("BEGIN ISOLATION LEVEL REPEATABLE READ")
        let value = try StoreFailure.wrap(place) { try body(TableQueries(PostgresStatements(connection: connection))) }
        // No other process has become the home meanwhile. One message, so that a cut connection leaves no lock.
        guard try connection.runSimple("\(lease.key.home) FOR SHARE; COMMIT").first?.rowCount == 1 else {
            throw StoreFailure(.fenced, path: place, detail: "another process is the realm's home")
        }
        return value
    }
}

@available(*, unavailable)
extension PostgresStore: Sendable {}
