import CallCore
import CallVocabulary
import StoreInterface

extension TableQueries {
    /// The number of calls in the store, or slightly more. O(1).
    package func callCount() throws -> Int {
        let row = try source.statement("SELECT coalesce(max(serial) - min(serial) + 1, 0) FROM call")
        return try row.first { row in Int(row.int()) } ?? 0
    }

    /// The next slice of call ids, in order. The slices contain every call that the store held at the first one, and
    /// some of those created meanwhile.
    ///
    /// Each slice is a separate read of a few milliseconds, so that other reads take their turn, and checkpoints are
    /// not delayed.
    /// - Parameter last: the last id of the slice before; nil for the first slice.
    /// - Returns: fewer than `limit` ids only when no call is left.
    package func callIDs(after last: CallID?, limit: Int) throws -> [CallID] {
        // Answered from the index on ids alone: a tenth of the pages of the rows.
        let condition = last == nil ? "" : "WHERE id > ?"
        let row = try source.statement("SELECT id FROM call \(condition) ORDER BY id LIMIT ?")
        if let last { row.bind(last) }
        row.bind(Int64(max(1, limit)))
        return try row.all { row throws(StoreFailure) in try row.identifier() }
    }

    /// The ids of all calls that match `part`, in order. Scans the index on ids: some tenths of a second for a million
    /// calls.
    package func callIDs(_ part: IDPart<CallSubject>, limit: Int) throws -> [CallID] {
        let row = try source.statement(source.dialect.named(in: "call") + " ORDER BY id LIMIT ?")
        row.bind(part)
        row.bind(Int64(max(1, limit)))
        return try row.all { row throws(StoreFailure) in try row.identifier() }
    }

    /// All pushes that match `part`, by id; the cost is that of ``callIDs(_:limit:)``.
    package func pushes(_ part: IDPart<PushSubject>, limit: Int) throws -> [PushRecord] {
        let row = try source.statement(
            PushTable.layout.select + " WHERE id IN (\(source.dialect.named(in: "push"))) ORDER BY id LIMIT ?")
        row.bind(part)
        row.bind(Int64(max(1, limit)))
        return try row.all(PushTable.read)
    }
}

extension SQLDialect {
    /// Selects the ids of a table that match a partial id.
    fileprivate func named(in table: String) -> String {
        """
        SELECT id FROM \(table) WHERE id BETWEEN ? AND ? \
        UNION SELECT id FROM \(table) WHERE \(suffix(of: digits(of: "id"))) = ?
        """
    }
}

extension StatementRow {
    /// For ``SQLDialect/named(in:)``.
    fileprivate func bind<Subject>(_ part: IDPart<Subject>) {
        bind(part.range.lowerBound)
        bind(part.range.upperBound)
        let digits = part.hex.uppercased()
        bind(digits)
        bind(digits)
    }
}
