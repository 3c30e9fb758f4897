import CallCore
import CallVocabulary
import StoreInterface

/// Queries on the tables of a store. The caller provides one consistent state for each query.
package struct TableQueries<Source: StatementSource> {
    package let source: Source

    package init(_ source: Source) { self.source = source }

    /// See `StoreQueries.call(_:)`.
    package func call(_ id: CallID) throws -> StoredCall? {
        let calls = try source.statement(CallTable.layout.select + " WHERE id = ?")
        calls.bind(id)
        guard let call = try calls.first(CallTable.read) else { return nil }
        let legs = try source.statement(LegTable.selectOfCall)
        legs.bind(id)
        let pushes = try source.statement(PushTable.selectOfCall)
        pushes.bind(id)
        let absences = try source.statement(AbsenceTable.selectOfCall)
        absences.bind(id)
        return StoredCall(
            call: call, legs: try legs.all(LegTable.read), pushes: try pushes.all(PushTable.read),
            absences: try absences.all(AbsenceTable.read))
    }

    /// One page of a user's own calls, in either role, newest first. It ends with the call that fits no frame any more: one
    /// user's calls to long lists must not hold up the reads behind them.
    /// - Parameter cursor: the `CallHistory.next` of the page before. If its call was deleted, other calls of the same
    ///   millisecond are skipped.
    package func history(of user: Handle, after cursor: HistoryCursor?, limit: Int) throws -> CallHistory {
        // Without a call, equal times compare with NULL, and are excluded.
        let serial = cursor?.call == nil ? "NULL" : "(SELECT serial FROM call WHERE id = ?)"
        let page = try source.statement(
            CallTable.layout.select + HistoryTable.join
                + " WHERE party.user = ? AND (party.created_at, party.call_serial) < (?, \(serial))"
                + " ORDER BY \(HistoryTable.order) LIMIT ?")
        page.bind(user)
        page.bind(cursor?.before.milliseconds ?? Int64.max)
        if let call = cursor?.call { page.bind(call) }
        // One more row tells whether there is another page.
        let limit = max(1, limit)
        page.bind(Int64(limit) + 1)
        var room = FrameLimits.content
        let calls = try page.all(
            while: { (call: CallRecord) in
                room -= call.to.wireBytes
                return room >= 0
            }, CallTable.read)
        let legs = try source.statement(LegTable.selectOfUser)
        let entries = try calls.prefix(limit).map { call in
            legs.bind(call.id)
            legs.bind(user)
            return CallHistory.Entry(call: call, legs: try legs.all(LegTable.read))
        }
        guard calls.count > limit || room < 0, let last = entries.last?.call else {
            return CallHistory(entries: entries, next: nil)
        }
        return CallHistory(entries: entries, next: HistoryCursor(before: last.createdAt, call: last.id))
    }

    /// The next groups, by name.
    package func groups(after name: String?, limit: Int) throws -> [CallGroup] {
        try next(GroupTable.layout.select, "name", after: name, limit).all(GroupTable.read)
    }

    /// The next aliases, by their own handle.
    package func aliases(after handle: Handle?, limit: Int) throws -> [Alias] {
        try next(AliasTable.layout.select, "handle", after: handle?.text, limit).all(AliasTable.read)
    }

    private func next(_ select: String, _ key: String, after last: String?, _ limit: Int) throws -> Source.Row {
        var conditions = RowConditions()
        conditions.add("\(key) > ?", last) { $0.bind($1) }
        let rows = try source.statement(select + conditions.sql + " ORDER BY \(key) LIMIT ?")
        conditions.bind(to: rows)
        rows.bind(Int64(max(0, limit)))
        return rows
    }
}
