import CallCore
import CallVocabulary
import GRDB
import StoreInterface

extension StoreReader {
    /// All pushes that match `part`, by id; the cost is that of ``callIDs(_:limit:)``.
    public func pushes(_ part: IDPart<PushSubject>, limit: Int) throws(StoreFailure) -> [PushRecord] {
        try read { database in
            let row = try SQLRow(
                database, PushTable.layout.select + " WHERE id IN (\(Self.named(in: "push"))) ORDER BY id LIMIT ?")
            row.bind(part)
            row.bind(Int64(max(1, limit)))
            return try row.all(PushTable.read)
        }
    }

    /// Pushes that should be closed at `now`, oldest first: their report is overdue, or they have expired without being
    /// sent or answered.
    /// - Parameter since: skips pushes intended before.
    public func overduePushes(at now: Instant, since: Instant? = nil, limit: Int = 100) throws(StoreFailure)
        -> [PushRecord]
    {
        try read { database in
            let row = try SQLRow(database, Self.overdueSQL)
            row.bind(since ?? Instant(milliseconds: .min))
            row.bind(now)
            row.bind(now)
            row.bind(Int64(max(0, limit)))
            return try row.all(PushTable.read)
        }
    }

    static let overdueSQL = """
        \(PushTable.layout.select) WHERE \(PushTable.isOpen) AND intended_at >= ? AND (
            (report = 'awaited' AND report_due_at < ?) OR (status IN ('intended', 'sent') AND expires_at < ?)
        ) ORDER BY intended_at, serial LIMIT ?
        """

    /// Counts the pushes by status. Reads every push: seconds for millions.
    public func ledgerCounts() throws(StoreFailure) -> LedgerCounts {
        try read { try Self.ledgerCounts($0) }
    }

    static func ledgerCounts(_ database: Database) throws -> LedgerCounts {
        var counts = LedgerCounts()
        let row = try SQLRow(database, "SELECT status, report, count(*) FROM push GROUP BY status, report")
        let cells = try row.all { row throws(StoreFailure) in
            (status: try row.value() as ProviderStatus, report: try row.optionalValue() as ReportStatus?, row.int())
        }
        for (status, report, count) in cells { counts.add(Int(count), status: status, report: report) }
        return counts
    }

    /// Audits the whole store: the conservation laws, and the rules for single rows. Reads every push, call and leg
    /// once: seconds for millions.
    public func audit() throws(StoreFailure) -> StoreAudit {
        try read { try StoreAudit($0) }
    }
}
