import CallCore
import CallVocabulary
import GRDB

extension StoreReader {
    /// The pushes that pass `filter`, newest first.
    public func pushes(_ filter: PushFilter = PushFilter()) throws(StoreFailure) -> [PushRecord] {
        var conditions: [String] = []
        if let isOpen = filter.isOpen { conditions.append(isOpen ? PushTable.isOpen : "NOT \(PushTable.isOpenOrNull)") }
        if filter.purpose != nil { conditions.append("purpose = ?") }
        if filter.status != nil { conditions.append("status = ?") }
        if filter.report != nil { conditions.append("report = ?") }
        if filter.user != nil { conditions.append("user = ?") }
        if filter.call != nil { conditions.append("call = ?") }
        if filter.since != nil { conditions.append("intended_at >= ?") }
        let sql = """
            \(PushTable.layout.select) \(Self.whereAll(conditions)) ORDER BY intended_at DESC, serial DESC LIMIT ?
            """
        return try read { database in
            let row = try SQLRow(database, sql)
            if let purpose = filter.purpose { row.bind(purpose) }
            if let status = filter.status { row.bind(status) }
            if let report = filter.report { row.bind(report) }
            if let user = filter.user { row.bind(user) }
            if let call = filter.call { row.bind(call) }
            if let since = filter.since { row.bind(since) }
            row.bind(Int64(max(0, filter.limit)))
            return try row.all(PushTable.read)
        }
    }

    /// One push; nil when the store does not have it.
    public func push(_ id: PushID) throws(StoreFailure) -> PushRecord? {
        try read { database in
            let row = try SQLRow(database, PushTable.layout.select + " WHERE id = ?")
            row.bind(id)
            return try row.first(PushTable.read)
        }
    }

    /// Pushes that should not be open any more at `now`, oldest first: their report was due, or they are still not
    /// sent or not answered though their time is over.
    public func overduePushes(at now: Instant, limit: Int = 100) throws(StoreFailure) -> [PushRecord] {
        try read { database in
            let row = try SQLRow(database, Self.overdueSQL)
            row.bind(now)
            row.bind(now)
            row.bind(Int64(max(0, limit)))
            return try row.all(PushTable.read)
        }
    }

    static let overdueSQL = """
        \(PushTable.layout.select) WHERE \(PushTable.isOpen) AND (
            (report = 'awaited' AND report_due_at < ?) OR (status IN ('intended', 'sent') AND expires_at < ?)
        ) ORDER BY intended_at, serial LIMIT ?
        """

    /// How many pushes stand where in the ledger. Reads every push: seconds on a store of millions.
    public func ledgerCounts() throws(StoreFailure) -> LedgerCounts {
        try read { try Self.ledgerCounts($0) }
    }

    private static func ledgerCounts(_ database: Database) throws -> LedgerCounts {
        var counts = LedgerCounts()
        let row = try SQLRow(database, "SELECT status, report, count(*) FROM push GROUP BY status, report")
        let cells = try row.all { row throws(StoreFailure) in
            (status: try row.value() as ProviderStatus, report: try row.optionalValue() as ReportStatus?, row.int())
        }
        for (status, report, count) in cells { counts.add(Int(count), status: status, report: report) }
        return counts
    }

    /// Checks the whole store: the conservation laws, and the rules that show row by row. Reads every push, call and
    /// leg once: seconds on a store of millions.
    public func audit() throws(StoreFailure) -> StoreAudit {
        try read { database in
            let counts = try Self.ledgerCounts(database)
            var violations = counts.violations
            for rule in StoreAudit.rules {
                let row = try SQLRow(database, rule.sql)
                let found = try row.all { row throws(StoreFailure) in try row.identifier() as CallID }
                if let first = found.first { violations.append("\(found.count) \(rule.name), first \(first)") }
            }
            return StoreAudit(counts: counts, violations: violations)
        }
    }
}

/// What an audit of a store found.
public struct StoreAudit: Equatable, Sendable {
    public var counts: LedgerCounts
    /// What is wrong, in words, each with the first case; empty when all is well.
    public var violations: [String]

    /// Each selects the ids of what breaks it.
    static let rules: [(name: String, sql: String)] = [
        (
            "pushes are marked as sent against their status",
            "SELECT id FROM push WHERE (sent_at IS NULL) <> (status IN ('intended', 'cancelled', 'expired'))"
        ),
        ("pushes belong to no call", "SELECT id FROM push WHERE call NOT IN (SELECT id FROM call)"),
        (
            "devices got more than one push of one purpose for one call; calls",
            "SELECT call FROM push GROUP BY call, user, device, purpose HAVING count(*) > 1"
        ),
        (
            "calls are ended without time or reason, or have them and are not ended",
            """
            SELECT id FROM call WHERE (ended_at IS NULL) <> (state <> 'ended')
            OR (end_reason IS NULL) <> (state <> 'ended')
            """
        ),
        (
            "calls were answered on more than one device",
            "SELECT call FROM leg WHERE answered_at IS NOT NULL GROUP BY call HAVING count(*) > 1"
        ),
        (
            "legs are live in calls that are over",
            """
            SELECT leg.call FROM leg JOIN call ON call.id = leg.call
            WHERE call.state = 'ended' AND leg.state <> 'ended'
            """
        ),
    ]
}
