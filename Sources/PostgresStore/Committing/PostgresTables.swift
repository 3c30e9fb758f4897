import CallCore
import CallVocabulary
import DequeModule
import Foundation
import RecordTables
import StoreInterface
import Synchronization

/// The tables of a realm, and the commits waiting to be applied to them.
///
/// May be used from any thread. Calls are serialized, except ``add(_:)``.
///
/// Transactions are not flushed: their rows leave the journal in the same transaction, so after a crash of the database
/// either both are there or neither. ``connected()`` then applies the journal again.
///
/// Proof for `@unchecked`: mutable state is behind a lock, or is accessed only while `turn` is held.
final class PostgresTables: RetentionTables, @unchecked Sendable {
    /// A transaction that was sent, and whose end is unknown.
    private struct Attempt {
        var part: PendingRecords.Prefix
        var count: Int
        var last: Int64
    }

    static let purpose = PostgresConnection.Purpose(
        name: "reveille tables", patience: .seconds(60),
        setup: [
            "SET synchronous_commit = off", "SET statement_timeout = '50s'", PostgresConnection.limitsIdleTransactions,
            // Each statement finds its rows by an index, whatever the statistics say, and is planned once.
            "SET enable_seqscan = off", "SET plan_cache_mode = force_generic_plan",
        ])
    private static let entriesAtOnce = 64

    private static let serials =
        "SELECT (SELECT coalesce(max(serial), 0) FROM call), (SELECT coalesce(max(serial), 0) FROM leg)"
    /// Fails unless the last commit is in the journal, and not in the tables yet: another home may have applied it. Fails
    /// for another home's journal too, which may have another commit of the number.
    private static let settle = """
        WITH gone AS (
            DELETE FROM journal WHERE commit_no >= ?1 AND commit_no < ?2
        ), marked AS (
            UPDATE journal SET operations = NULL WHERE commit_no = ?2 AND operations IS NOT NULL
                AND EXISTS (SELECT 1 FROM home WHERE epoch = ?3 AND term = ?4) RETURNING 1
        )
        SELECT 1 / (SELECT count(*) FROM marked)
        """
    private static let history = HistoryTable.insert(.postgreSQL)

    let address: PostgresAddress
    private let turn = NSLock()
    private let arrivals = Mutex<[NumberedCommit]>([])
    private var connection: PostgresConnection?
    private var pending = PendingRecords()
    /// The numbers of the commits in `pending`, lowest first.
    private var numbers = Deque<Int64>()
    private var attempt: Attempt?
    /// The last commit in the tables.
    private var settled: Int64
    /// The last commit that was in the tables once. After a crash of the database `settled` may be less, until the
    /// journal is applied again.
    private var reached: Int64
    private let key: TermKey
    /// The serials of the last call and leg.
    private(set) var lastSerials: (call: Int64, leg: Int64) = (0, 0)
    private var callsMayBeDeletedBefore: Instant?
    private var deleter: RetentionDeleter<PostgresStatements>?

    init(_ address: PostgresAddress, _ key: TermKey, settled: Int64) {
        self.address = address
        self.key = key
        self.settled = settled
        reached = settled
    }

    /// Adds a commit that is durable in the journal, for ``catchUp(records:)``.
    func add(_ commit: NumberedCommit) { arrivals.withLock { $0.append(commit) } }

    /// Writes the oldest waiting commits, in one transaction.
    /// - Parameter records: the number of rows to write, approximate; at least those of one commit.
    /// - Returns: nil when no commit was waiting.
    func catchUp(records: Int) throws(StoreFailure) -> Settled? {
        try inTurn { () throws(StoreFailure) in
            let connection = try connected()
            if let done = endAttempt() { return done }
            if attempt == nil { attempt = takeArrivals(records) }
            guard let attempt else { return nil }
            try write(through: attempt.last, on: connection) { pipeline throws(StoreFailure) in
                try pending.write(groups: attempt.part.groups, with: pipeline)
            }
            return endAttempt()
        }
    }

    /// Applies what a crash of the database has undone.
    func recheck() throws(StoreFailure) {
        try inTurn { () throws(StoreFailure) in
            connection = nil
            _ = try connected()
        }
    }

    /// Flushes the tables' transactions: what they wrote is there after a crash of the database too.
    func flush() throws(StoreFailure) {
        try inTurn { () throws(StoreFailure) in
            let connection = try connected()
            do throws(StoreFailure) {
                // A commit that writes to the write-ahead log flushes all before it.
                try connection.runSimple(
                    """
                    BEGIN; SET LOCAL synchronous_commit = on;
                    SELECT pg_logical_emit_message(true, 'reveille', ''); COMMIT
                    """)
            } catch {
                self.connection = nil
                throw error
            }
        }
    }

    /// The next transaction; nil when there is nothing to write.
    private func takeArrivals(_ records: Int) -> Attempt? {
        let arrived = arrivals.withLock { arrivals in
            defer { arrivals = [] }
            return arrivals
        }
        for commit in arrived {
            pending.take(commit)
            numbers.append(commit.number)
        }
        var (count, part) = (0, PendingRecords.Prefix())
        while count < numbers.count, count == 0 || part.records < records {
            pending.extend(&part, through: numbers[count])
            count += 1
        }
        return count == 0 ? nil : Attempt(part: part, count: count, last: numbers[count - 1])
    }

    /// - Returns: nil when the tables do not have the attempted transaction.
    private func endAttempt() -> Settled? {
        guard let attempt, attempt.last <= settled else { return nil }
        pending.removeFirst(attempt.part.groups)
        numbers.removeFirst(attempt.count)
        self.attempt = nil
        return Settled(through: attempt.last, rows: attempt.part.records)
    }

    /// Runs a transaction that brings the tables to the commit `last`.
    private func write(
        through last: Int64, on connection: PostgresConnection,
        _ body: (PostgresPipeline) throws(StoreFailure) -> Void
    ) throws(StoreFailure) {
        let (first, serials, cutoff) = (settled, lastSerials, callsMayBeDeletedBefore)
        do throws(StoreFailure) {
            let results = try connection.pipeline { pipeline throws(StoreFailure) in
                pipeline.callsMayBeDeletedBefore = cutoff
                try pipeline.send("BEGIN")
                try body(pipeline)
                if pipeline.hasCallsOrLegs {
                    try pipeline.send(Self.history) { parameters in
                        parameters.bind(serials.call)
                        parameters.bind(serials.leg)
                    }
                }
                try pipeline.send(Self.settle) { parameters in
                    parameters.bind(first)
                    parameters.bind(last)
                    parameters.bind(key)
                }
                try pipeline.send(Self.serials)
                try pipeline.send("COMMIT")
            }
            settled = last
            reached = max(reached, last)
            // Of all results, only these have two columns; a statement's preparation has one of its own.
            if let found = results.last(where: { $0.columnCount == 2 }) { noteSerials(found) }
        } catch {
            self.connection = nil
            guard error.reason == .postgreSQL("22012") else { throw error }
            throw StoreFailure(
                .busy, path: address.description,
                detail: "commit \(last) is not one of this home, has left the journal, or is in the tables already")
        }
    }

    private func noteSerials(_ row: PostgresResult) {
        lastSerials = (row.int(0, 0) ?? 0, row.int(0, 1) ?? 0)
    }

    /// Applies all commits of the journal up to `last`, from the database: those that another process has left, or
    /// whose transaction a crash of the database has undone.
    func replay(through last: Int64) throws(StoreFailure) {
        try inTurn { () throws(StoreFailure) in _ = try connected(through: last) }
    }

    private func connected(through known: Int64? = nil) throws(StoreFailure) -> PostgresConnection {
        if let connection, !connection.isBroken, known == nil { return connection }
        deleter = nil
        let made = try PostgresConnection(address, Self.purpose)
        reached = max(reached, known ?? 0)
        let goal = reached
        let ends = try PostgresJournal.ends(made)
        settled = ends.settled
        noteSerials(try made.run(Self.serials))
        while settled < goal {
            let entries = try PostgresJournal.entries(made, after: settled, through: goal, limit: Self.entriesAtOnce)
            guard let last = entries.last else {
                throw StoreFailure(
                    .lostCommits, path: address.description, detail: "its journal ends before commit \(goal)")
            }
            // It is unknown when calls were deleted.
            let cutoff = callsMayBeDeletedBefore
            callsMayBeDeletedBefore = Instant(milliseconds: .max)
            defer { callsMayBeDeletedBefore = cutoff }
            try write(through: last.number, on: made) { pipeline throws(StoreFailure) in
                for entry in entries { try Self.run(entry, pipeline) }
            }
        }
        connection = made
        return made
    }

    /// Calls first: dependent rows look up their call.
    private static func run(
        _ entry: PostgresJournal.Entry, _ pipeline: PostgresPipeline
    ) throws(StoreFailure) {
        let result = entry.operations.withUnsafeBytes { operations in
            Result { () throws(StoreFailure) in
                try pipeline.run(operations, only: .upsertCall)
                try pipeline.run(operations)
            }
        }
        try result.get()
    }

    // MARK: Retention

    func deleteSlice(
        _ run: inout RetentionRun, rows: Int, until isOver: () -> Bool
    ) throws(StoreFailure) -> RetentionCounts {
        var (next, counts) = (run, RetentionCounts())
        try inTurn { () throws(StoreFailure) in
            let connection = try connected()
            do throws(StoreFailure) {
                try connection.runSimple("BEGIN")
                guard try connection.runSimple(key.home).first?.rowCount == 1 else {
                    throw StoreFailure(
                        .fenced, path: address.description, detail: "the lease is not this process's any more")
                }
                let deleter = try StoreFailure.wrap(address.description) { try retention(connection) }
                var left = rows
                repeat {
                    let deleted = try deleter.advance(&next, limit: left)
                    counts += deleted
                    left -= max(1, deleted.total)
                } while left > 0 && !next.isDone && !isOver()
                // The next call may get the number of a deleted one.
                noteSerials(try connection.run(Self.serials))
                // Also when the answer to the commit is lost.
                if let cutoff = next.callsBefore {
                    callsMayBeDeletedBefore = max(callsMayBeDeletedBefore ?? cutoff, cutoff)
                }
                try connection.runSimple("COMMIT")
            } catch {
                self.connection = nil
                throw error
            }
        }
        run = next
        return counts
    }

    func oldestCall() throws(StoreFailure) -> Instant? {
        try inTurn { () throws(StoreFailure) in
            let connection = try connected()
            return try StoreFailure.wrap(address.description) { try retention(connection).oldest() }
        }
    }

    private func retention(_ connection: PostgresConnection) throws -> RetentionDeleter<PostgresStatements> {
        if let deleter { return deleter }
        let made = try RetentionDeleter(PostgresStatements(connection: connection))
        deleter = made
        return made
    }

    func close() {
        turn.withLock {
            deleter = nil
            connection = nil
        }
    }

    private func inTurn<Value>(_ body: () throws(StoreFailure) -> Value) throws(StoreFailure) -> Value {
        turn.lock()
        defer { turn.unlock() }
        return try body()
    }
}
