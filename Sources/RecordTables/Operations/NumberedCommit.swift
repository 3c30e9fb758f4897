/// The records of one commit, with its number.
///
/// Commits are numbered consecutively over the life of a store. Each is appended to the journal or written to the
/// tables at once.
package struct NumberedCommit: Sendable {
    package var number: Int64
    package var records: EncodedRecords

    package init(number: Int64, records: EncodedRecords) {
        self.number = number
        self.records = records
    }
}

extension PendingRecords {
    package mutating func take(_ commit: NumberedCommit) {
        let records = commit.records
        var (start, index) = (0, 0)
        for batch in records.batches {
            for record in batch {
                take(record, in: records.chunk, start..<records.ends[index], entry: commit.number)
                start = records.ends[index]
                index += 1
            }
        }
    }
}

/// How far the journal has been applied to the tables.
package struct Settled: Equatable, Sendable {
    /// The last commit that is completely in the tables, with all before it.
    package var through: Int64
    package var rows: Int

    package init(through: Int64, rows: Int) {
        self.through = through
        self.rows = rows
    }
}
