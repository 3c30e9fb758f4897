import CallCore
import CallVocabulary
import StoreInterface

extension TableQueries {
    /// The calls that match `filter`, newest first. Reads as many rows as it takes; see ``callPage(_:scanning:)`` for a
    /// bounded read.
    package func calls(_ filter: CallFilter) throws -> [CallRecord] { try CallQuery(filter).rows(source, from: nil) }

    /// The next calls that match `filter`, newest first, of the next `scanning` calls. The bound lets other reads take
    /// their turn, however rare the matches are.
    package func callPage(_ filter: CallFilter, scanning: Int) throws -> StorePage<CallRecord, CallCursor> {
        let query = CallQuery(filter)
        let last = try query.cursor(source, ahead: scanning)
        let rows = try query.rows(source, from: last)
        let isFull = rows.count >= max(0, filter.limit)
        return StorePage(rows: rows, next: isFull ? rows.last.map(CallCursor.init) ?? filter.after : last)
    }
}

/// The query for a filter of calls: ordered by time, for all users or one.
private struct CallQuery {
    let filter: CallFilter
    private let isOfUser: Bool
    /// The columns of the order.
    private let order: [String]

    init(_ filter: CallFilter) {
        self.filter = filter
        isOfUser = filter.user != nil
        order = isOfUser ? ["party.created_at", "party.call_serial"] : ["call.created_at", "call.serial"]
    }

    private var descending: String { " ORDER BY " + order.map { $0 + " DESC" }.joined(separator: ", ") }

    /// A position in the order, bound by a call's time and id.
    private static let place = "(?, (SELECT serial FROM call named WHERE named.id = ?))"

    /// - Parameter last: the last call to read; nil for all.
    func rows(_ source: some StatementSource, from last: CallCursor?) throws -> [CallRecord] {
        var conditions = range
        conditions.add("(\(order.joined(separator: ", "))) >= \(Self.place)", last) { $0.bind($1) }
        if isLiveOnly { conditions.add("state <> 'ended'") }
        if filter.isLive == false { conditions.add("state = 'ended'") }
        if let states = filter.states {
            let marks = states.map { _ in "?" }.joined(separator: ", ")
            // PostgreSQL has no empty list.
            conditions.add(states.isEmpty ? "0 = 1" : "state IN (\(marks))") { row in
                for state in states { row.bind(state) }
            }
        }
        conditions.add("end_reason = ?", filter.reason) { $0.bind($1) }
        let select = CallTable.layout.select + (isOfUser ? HistoryTable.join : "")
        let row = try source.statement(select + conditions.sql + descending + " LIMIT ?")
        conditions.bind(to: row)
        row.bind(Int64(max(0, filter.limit)))
        return try row.all(CallTable.read)
    }

    /// The call `count` positions further; nil when there are fewer, or when an index selects exactly the matching
    /// calls.
    func cursor(_ source: some StatementSource, ahead count: Int) throws -> CallCursor? {
        guard !isLiveOnly || isOfUser else { return nil }
        let columns =
            isOfUser
            ? "created_at, coalesce((SELECT id FROM call WHERE serial = call_serial), \(source.dialect.zeroID)) FROM call_party party"
            : "created_at, id FROM call"
        let conditions = range
        let row = try source.statement("SELECT \(columns)\(conditions.sql)\(descending) LIMIT 1 OFFSET ?")
        conditions.bind(to: row)
        row.bind(Int64(max(1, count) - 1))
        return try row.first { row throws(StoreFailure) in
            CallCursor(createdAt: try row.instant(), call: try row.identifier())
        }
    }

    private var isLiveOnly: Bool {
        filter.isLive == true || filter.states.map { !$0.isEmpty && !$0.contains(.ended) } ?? false
    }

    private var range: RowConditions {
        var conditions = RowConditions()
        conditions.add("party.user = ?", filter.user) { $0.bind($1) }
        conditions.add("\(order[0]) >= ?", filter.since) { $0.bind($1) }
        conditions.add("\(order[0]) < ?", filter.until) { $0.bind($1) }
        conditions.add("(\(order.joined(separator: ", "))) < \(Self.place)", filter.after) { $0.bind($1) }
        return conditions
    }
}

extension StatementRow {
    fileprivate func bind(_ cursor: CallCursor) {
        bind(cursor.createdAt)
        bind(cursor.call)
    }
}
