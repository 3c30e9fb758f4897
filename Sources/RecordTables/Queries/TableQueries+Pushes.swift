import CallCore
import CallVocabulary
import StoreInterface

extension TableQueries {
    /// The pushes that match `filter`, newest first. Reads as many rows as it takes; see ``pushPage(_:scanning:)`` for
    /// a bounded read.
    package func pushes(_ filter: PushFilter) throws -> [PushRecord] {
        try PushQuery(filter: filter).rows(source, from: nil)
    }

    /// The next pushes that match `filter`, newest first, of the next `scanning` pushes. The bound lets other reads
    /// take their turn, however rare the matches are.
    package func pushPage(_ filter: PushFilter, scanning: Int) throws -> StorePage<PushRecord, PushCursor> {
        let query = PushQuery(filter: filter)
        let last = try query.cursor(source, ahead: scanning)
        let rows = try query.rows(source, from: last)
        let isFull = rows.count >= max(0, filter.limit)
        return StorePage(rows: rows, next: isFull ? rows.last.map(PushCursor.init) ?? filter.after : last)
    }

    /// One push; nil when the store does not have it.
    package func push(_ id: PushID) throws -> PushRecord? {
        let row = try source.statement(PushTable.layout.select + " WHERE id = ?")
        row.bind(id)
        return try row.first(PushTable.read)
    }
}

/// The query for a filter of pushes: ordered by time.
private struct PushQuery {
    let filter: PushFilter

    private static let descending = " ORDER BY intended_at DESC, serial DESC"
    /// A position in the order, bound by a push's time and id.
    private static let place = "(?, (SELECT serial FROM push named WHERE named.id = ?))"

    /// - Parameter last: the last push to read; nil for all.
    func rows(_ source: some StatementSource, from last: PushCursor?) throws -> [PushRecord] {
        var conditions = range
        conditions.add("(intended_at, serial) >= \(Self.place)", last) { $0.bind($1) }
        if let isOpen = filter.isOpen { conditions.add(isOpen ? PushTable.isOpen : "NOT \(PushTable.isOpenOrNull)") }
        conditions.add("purpose = ?", filter.purpose) { $0.bind($1) }
        conditions.add("status = ?", filter.status) { $0.bind($1) }
        conditions.add("report = ?", filter.report) { $0.bind($1) }
        conditions.add("user = ?", filter.user) { $0.bind($1) }
        conditions.add(TableLayout.ofCall, filter.call) { $0.bind($1) }
        let row = try source.statement(PushTable.layout.select + conditions.sql + Self.descending + " LIMIT ?")
        conditions.bind(to: row)
        row.bind(Int64(max(0, filter.limit)))
        return try row.all(PushTable.read)
    }

    /// The push `count` positions further; nil when there are fewer, or when an index selects exactly the matching
    /// pushes.
    func cursor(_ source: some StatementSource, ahead count: Int) throws -> PushCursor? {
        guard filter.isOpen != true, filter.call == nil else { return nil }
        let conditions = range
        let row = try source.statement(
            "SELECT intended_at, id FROM push\(conditions.sql)\(Self.descending) LIMIT 1 OFFSET ?")
        conditions.bind(to: row)
        row.bind(Int64(max(1, count) - 1))
        return try row.first { row throws(StoreFailure) in
            PushCursor(intendedAt: try row.instant(), push: try row.identifier())
        }
    }

    private var range: RowConditions {
        var conditions = RowConditions()
        conditions.add("intended_at >= ?", filter.since) { $0.bind($1) }
        conditions.add("intended_at < ?", filter.until) { $0.bind($1) }
        conditions.add("(intended_at, serial) < \(Self.place)", filter.after) { $0.bind($1) }
        return conditions
    }
}

extension StatementRow {
    fileprivate func bind(_ cursor: PushCursor) {
        bind(cursor.intendedAt)
        bind(cursor.push)
    }
}
