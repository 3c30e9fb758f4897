import CallCore
import CallVocabulary
import DequeModule
import GRDB
import StoreInterface

/// A commit: what it wrote, under its number.
///
/// Commits are numbered through, in order, over the life of a store. Each stands in the journal or goes into the tables
/// at once.
struct NumberedCommit: Sendable {
    var number: Int64
    var records: EncodedRecords
}

/// How far the tables have come.
struct Settled: Equatable, Sendable {
    /// The last commit that is in the tables whole, with all before it.
    var through: Int64
    /// How many rows were written for that.
    var rows: Int
}

/// Writes records into their tables.
///
/// A transaction is open around each writing. What it did counts only once that is committed and the writer told so:
/// after a failure it is as before, and the same may be written again.
final class TableWriter {
    private let runner: OperationRunner
    private let histories: HistoryWriter
    private let noteSettled: SQLRow
    /// What is written into the tables at once.
    private var direct = PendingRecords()
    /// What is in the journal and not in the tables.
    private var behind = PendingRecords()
    /// The numbers of the commits that it came with, lowest first.
    private var numbers = Deque<Int64>()

    init(_ database: Database) throws {
        runner = try OperationRunner(database)
        histories = try HistoryWriter(database)
        noteSettled = try SQLRow(database, SettledCommits.note)
    }

    /// From now on nothing is written about a call that ended before `cutoff` and is gone: a report may come for a call
    /// that was looked up just before it was deleted.
    func callsMayBeDeleted(before cutoff: Instant) { runner.callsMayBeDeleted(before: cutoff) }

    /// Takes what is in the journal, and is to be written later.
    func take(_ commits: [NumberedCommit]) {
        for commit in commits {
            Self.take(commit, into: &behind)
            numbers.append(commit.number)
        }
    }

    /// Writes all that was taken, and then `commit`.
    /// - Returns: how many rows were written: at most one for each key (tokens count with their device), and each batch
    ///   of candidates.
    func write(_ commit: NumberedCommit, in transaction: (() throws -> Void) throws -> Void) throws -> Int {
        defer { direct.removeAll() }
        Self.take(commit, into: &direct)
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

    /// Writes of what was taken the oldest commits: as many as give about `records` to write, at least one.
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

    private static func take(_ commit: NumberedCommit, into pending: inout PendingRecords) {
        let records = commit.records
        var (start, index) = (0, 0)
        for batch in records.batches {
            for record in batch {
                pending.take(record, in: records.chunk, start..<records.ends[index], entry: commit.number)
                start = records.ends[index]
                index += 1
            }
        }
    }
}

@available(*, unavailable)
extension TableWriter: Sendable {}
