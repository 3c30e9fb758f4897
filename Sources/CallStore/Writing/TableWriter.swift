import CallCore
import CallVocabulary
import DequeModule
import GRDB
import RecordTables
import StoreInterface

/// Writes records to their tables.
///
/// Each write runs in an open transaction, and takes effect only after its commit. After a failure the state is
/// unchanged, and the write may be repeated.
final class TableWriter {
    private let runner: OperationRunner
    private let histories: HistoryWriter
    private let noteSettled: SQLRow
    /// Records to be written at once.
    private var direct = PendingRecords()
    /// Records in the journal that are not in the tables.
    private var behind = PendingRecords()
    /// The numbers of their commits, lowest first.
    private var numbers = Deque<Int64>()

    init(_ database: Database) throws {
        runner = try OperationRunner(database)
        histories = try HistoryWriter(database)
        noteSettled = try SQLRow(database, SettledCommits.note)
    }

    /// Stops writing rows of calls that ended before `cutoff` and were deleted: a report may arrive for a call that was
    /// looked up just before its deletion.
    func callsMayBeDeleted(before cutoff: Instant) { runner.callsMayBeDeleted(before: cutoff) }

    /// Adds commits that are in the journal, to be written later.
    func take(_ commits: [NumberedCommit]) {
        for commit in commits {
            behind.take(commit)
            numbers.append(commit.number)
        }
    }

    /// Writes all added commits, and then `commit`.
    /// - Returns: how many rows were written: at most one for each key (tokens count with their device), and each batch
    ///   of candidates.
    func write(_ commit: NumberedCommit, in transaction: (() throws -> Void) throws -> Void) throws -> Int {
        defer { direct.removeAll() }
        direct.take(commit)
        try transaction {
            try histories.write {
                try behind.write(with: runner)
                try direct.write(with: runner)
            }
            try settle(through: commit.number)
        }
        let rows = behind.count + direct.count
        behind.removeAll()
        numbers.removeAll()
        return rows
    }

    /// Writes the oldest added commits: as many as have about `records` rows, at least one.
    /// - Returns: nil when there is nothing to write.
    func catchUp(records: Int, in transaction: (() throws -> Void) throws -> Void) throws -> Settled? {
        var (settled, part) = (0, PendingRecords.Prefix())
        while settled < numbers.count, settled == 0 || part.records < records {
            behind.extend(&part, through: numbers[settled])
            settled += 1
        }
        guard settled > 0 else { return nil }
        let last = numbers[settled - 1]
        try transaction {
            try histories.write { try behind.write(groups: part.groups, with: runner) }
            try settle(through: last)
        }
        behind.removeFirst(part.groups)
        numbers.removeFirst(settled)
        return Settled(through: last, rows: part.records)
    }

    private func settle(through number: Int64) throws(StoreFailure) {
        noteSettled.bind(number)
        try noteSettled.run()
    }
}

@available(*, unavailable)
extension TableWriter: Sendable {}
