import CallVocabulary
import StoreInterface

extension StoreReader {
    /// How many calls the store has, or a little more. Costs nothing.
    public func callCount() throws(StoreFailure) -> Int {
        try read { database in
            let row = try SQLRow(database, "SELECT coalesce(max(serial) - min(serial) + 1, 0) FROM call")
            return try row.first { row in Int(row.int()) } ?? 0
        }
    }

    /// The ids of the next calls, in their order. Slice by slice, all that the store held at the first one come; of those
    /// made meanwhile, some.
    ///
    /// Each slice is a read of its own, of a few milliseconds: others get their turn in between, and no commit is kept
    /// from being checkpointed.
    /// - Parameter last: the last id of the slice before; nil for the first.
    /// - Returns: fewer than `limit` when no call is left.
    public func callIDs(after last: CallID? = nil, limit: Int) throws(StoreFailure) -> [CallID] {
        try read { database in
            // Answered from the index on the ids alone: a tenth of the pages that the rows take.
            let condition = last == nil ? "" : "WHERE id > ?"
            let row = try SQLRow(database, "SELECT id FROM call \(condition) ORDER BY id LIMIT ?")
            if let last { row.bind(last) }
            row.bind(Int64(max(1, limit)))
            return try row.all { row throws(StoreFailure) in try row.identifier() }
        }
    }

    /// The ids of all calls in the store that `part` names, in their order. Looks at the index on the ids alone: for a
    /// million calls some tenths of a second.
    public func callIDs(_ part: IDPart<CallSubject>, limit: Int) throws(StoreFailure) -> [CallID] {
        try read { database in
            let row = try SQLRow(database, Self.named(in: "call") + " ORDER BY id LIMIT ?")
            row.bind(part)
            row.bind(Int64(max(1, limit)))
            return try row.all { row throws(StoreFailure) in try row.identifier() }
        }
    }

    /// The ids of a table that a part of one names.
    static func named(in table: String) -> String {
        """
        SELECT id FROM \(table) WHERE id BETWEEN ? AND ? \
        UNION SELECT id FROM \(table) WHERE substr(hex(id), -length(?)) = ?
        """
    }
}

extension SQLRow {
    /// For ``StoreReader/named(in:)``.
    func bind<Subject>(_ part: IDPart<Subject>) {
        bind(part.range.lowerBound)
        bind(part.range.upperBound)
        let digits = part.hex.uppercased()
        bind(digits)
        bind(digits)
    }
}
