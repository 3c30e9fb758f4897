import CallCore
import CallVocabulary
import StoreInterface

extension TableQueries {
    /// The ended calls of a page, in the order of their ends. Damaged rows are left out, and named.
    package func endedCalls(_ page: ExportPage) throws -> StorePage<CallRecord, ExportCursor> {
        try page.rows(source, CallTable.layout, time: "ended_at", CallTable.read)
    }

    /// The pushes of a page, in the order in which they were intended, up to the first one that is open. Damaged rows
    /// are left out, and named.
    package func closedPushes(_ page: ExportPage) throws -> StorePage<PushRecord, ExportCursor> {
        // Times outside 2^53 are damaged.
        let open = try source.statement(
            "SELECT intended_at FROM push WHERE \(PushTable.isOpen) "
                + "AND intended_at BETWEEN -9007199254740992 AND 9007199254740992 ORDER BY intended_at LIMIT 1")
        var page = page
        if let first = try open.first({ row throws(StoreFailure) in try row.instant() }) {
            page.until = min(page.until ?? first, first)
        }
        return try page.rows(source, PushTable.layout, time: "intended_at", PushTable.read)
    }
}

extension ExportPage {
    /// - Parameter time: the column of the order.
    fileprivate func rows<Record, Source: StatementSource>(
        _ source: Source, _ layout: TableLayout, time: String, _ read: (Source.Row) throws(StoreFailure) -> Record
    ) throws -> StorePage<Record, ExportCursor> {
        let query = query(layout, time: time)
        let row = try source.statement(query.sql)
        query.conditions.bind(to: row)
        row.bind(Int64(max(0, limit)))
        var last: ExportCursor?
        var unreadable: [StoreFailure] = []
        let records: [Record?] = try row.all { row throws(StoreFailure) in
            // Any number, so that a damaged time does not hold up the export. The record has the time once more.
            let cursor = ExportCursor(at: Instant(milliseconds: row.int()), serial: row.int())
            last = cursor
            do throws(StoreFailure) {
                return try read(row)
            } catch {
                guard error.reason == .unreadableRow else { throw error }
                unreadable.append(
                    StoreFailure(
                        error.reason, path: error.path,
                        detail: "row \(cursor.serial) of \(layout.name): \(error.detail)"))
                return nil
            }
        }
        return StorePage(rows: records.compactMap { $0 }, next: last, unreadable: unreadable)
    }

    /// The statement of the page. Its last parameter is the limit.
    package func query(_ layout: TableLayout, time: String) -> (sql: String, conditions: RowConditions) {
        var conditions = RowConditions()
        conditions.add("\(time) IS NOT NULL")
        conditions.add("\(time) >= ?", since) { $0.bind($1) }
        conditions.add("\(time) < ?", until) { $0.bind($1) }
        conditions.add("(\(time), serial) > (?, ?)", after) { row, cursor in
            row.bind(cursor.at)
            row.bind(cursor.serial)
        }
        let columns = layout.select.dropFirst("SELECT ".count)
        return ("SELECT \(time), serial, \(columns)\(conditions.sql) ORDER BY \(time), serial LIMIT ?", conditions)
    }
}
