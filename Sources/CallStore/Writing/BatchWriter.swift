import CallCore
import CallVocabulary
import DequeModule
import GRDB

/// Writes batches of records: into their tables, or into the journal first and into the tables later.
///
/// A transaction is open around each writing. What it did counts only once that is committed and the writer told so:
/// after a failure it is as before, and the same may be written again.
final class BatchWriter {
    /// An entry is one value, of which SQLite takes a thousand million bytes. More than this, which is thousands of times
    /// what a commit has, goes into the tables at once.
    static let mostEntryBytes = 16 << 20

    private struct Entry {
        var number: Int64
        var at: ContinuousClock.Instant
    }

    private let runner: OperationRunner
    private let journal: WriteJournal
    private var buffer = OperationBuffer()
    /// Where the operations of each record in `buffer` end.
    private var ends: [Int] = []
    /// What is written into the tables at once.
    private var direct = PendingRecords()
    /// What is in the journal and not in the tables.
    private var behind = PendingRecords()
    /// The journal's, oldest first.
    private var entries = Deque<Entry>()

    /// To be made on a store with an empty journal.
    init(_ database: Database) throws {
        runner = try OperationRunner(database)
        journal = try WriteJournal(database)
    }

    /// From now on nothing is written about a call that ended before `cutoff` and is gone: a report may come for a call
    /// that was looked up just before it was deleted.
    func callsMayBeDeleted(before cutoff: Instant) { runner.callsMayBeDeleted(before: cutoff) }

    // MARK: Into the tables

    /// Writes `batches`, and before them what is in the journal.
    /// - Returns: how many rows were written: at most one for each key (tokens count with their device), and each batch
    ///   of candidates.
    func write(
        _ batches: some Sequence<[StoreRecord]>, in transaction: (() throws -> Void) throws -> Void
    ) throws -> Int {
        try write(batches, encode(batches), in: transaction)
    }

    private func write(
        _ batches: some Sequence<[StoreRecord]>, _ chunk: OperationChunk,
        in transaction: (() throws -> Void) throws -> Void
    ) throws -> Int {
        defer { direct.removeAll() }
        take(batches, into: &direct, chunk, entry: 0)
        try transaction {
            try behind.write(with: runner)
            if let last = entries.last { try journal.delete(through: last.number) }
            try direct.write(with: runner)
        }
        let rows = behind.count + direct.count
        behind.removeAll()
        entries.removeAll()
        return rows
    }

    // MARK: Into the journal

    /// Since when the oldest entry is in the journal; nil when all is in the tables.
    var behindSince: ContinuousClock.Instant? { entries.first?.at }

    /// Records in the journal that are to be written into the tables.
    var behindCount: Int { behind.count }

    /// Writes `batches` into the journal as one entry, where that is not too large for one.
    /// - Returns: how many rows were written into the tables instead.
    func writeBehind(
        _ batches: some Sequence<[StoreRecord]>, in transaction: (() throws -> Void) throws -> Void
    ) throws -> Int {
        let entry = (entries.last?.number ?? 0) + 1
        let chunk = encode(batches)
        guard chunk.bytes.count <= Self.mostEntryBytes else { return try write(batches, chunk, in: transaction) }
        try transaction { try journal.insert(entry, chunk) }
        entries.append(Entry(number: entry, at: .now))
        take(batches, into: &behind, chunk, entry: entry)
        return 0
    }

    /// Brings the oldest entries into the tables: as many as give about `records` to write, at least one.
    /// - Returns: how many rows were written.
    func catchUp(records: Int, in transaction: (() throws -> Void) throws -> Void) throws -> Int {
        var (settled, part) = (0, PendingRecords.Prefix())
        while settled < entries.count, settled == 0 || part.records < records {
            behind.extend(&part, through: entries[settled].number)
            settled += 1
        }
        guard settled > 0 else { return 0 }
        let last = entries[settled - 1].number
        try transaction {
            try behind.write(groups: part.groups, with: runner)
            try journal.delete(through: last)
        }
        behind.removeFirst(part.groups)
        entries.removeFirst(settled)
        return part.records
    }

    // MARK: Records to operations

    private func encode(_ batches: some Sequence<[StoreRecord]>) -> OperationChunk {
        buffer.removeAll()
        ends.removeAll(keepingCapacity: true)
        for batch in batches {
            for record in batch {
                buffer.append(record)
                ends.append(buffer.bytes.count)
            }
        }
        return OperationChunk(copying: buffer)
    }

    private func take(
        _ batches: some Sequence<[StoreRecord]>, into pending: inout PendingRecords, _ chunk: OperationChunk,
        entry: Int64
    ) {
        var (start, index) = (0, 0)
        for batch in batches {
            for record in batch {
                pending.take(record, in: chunk, start..<ends[index], entry: entry)
                start = ends[index]
                index += 1
            }
        }
    }
}

@available(*, unavailable)
extension BatchWriter: Sendable {}
