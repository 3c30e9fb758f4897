import CallCore
import CallVocabulary
import StoreInterface

extension TableQueries {
    /// Pushes that should be closed at `now`, oldest first: their report is overdue, or they have expired without being
    /// sent or answered.
    /// - Parameter since: skips pushes intended before.
    package func overduePushes(at now: Instant, since: Instant?, limit: Int) throws -> [PushRecord] {
        let row = try source.statement(LedgerSQL.overdue)
        row.bind(since ?? Instant(milliseconds: .min))
        row.bind(now)
        row.bind(now)
        row.bind(Int64(max(0, limit)))
        return try row.all(PushTable.read)
    }

    /// Counts the pushes by status. Reads every push: seconds for millions.
    package func ledgerCounts() throws -> LedgerCounts {
        var counts = LedgerCounts()
        let row = try source.statement("SELECT status, report, count(*) FROM push GROUP BY status, report")
        let cells = try row.all { row throws(StoreFailure) in
            (status: try row.value() as ProviderStatus, report: try row.optionalValue() as ReportStatus?, row.int())
        }
        for (status, report, count) in cells { counts.add(Int(count), status: status, report: report) }
        return counts
    }
}

package enum LedgerSQL {
    package static let overdue = """
        \(PushTable.layout.select) WHERE \(PushTable.isOpen) AND intended_at >= ? AND (
            (report = 'awaited' AND report_due_at < ?) OR (status IN ('intended', 'sent') AND expires_at < ?)
        ) ORDER BY intended_at, serial LIMIT ?
        """
}
