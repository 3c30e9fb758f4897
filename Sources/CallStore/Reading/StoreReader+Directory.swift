import CallVocabulary
import StoreInterface

extension StoreReader {
    /// The next groups, by name.
    public func groups(after name: String?, limit: Int) throws(StoreFailure) -> [CallGroup] {
        try readNext(GroupTable.layout.select, "name", after: name, limit, GroupTable.read)
    }

    /// The next aliases, by their own handle.
    public func aliases(after handle: Handle?, limit: Int) throws(StoreFailure) -> [Alias] {
        try readNext(AliasTable.layout.select, "handle", after: handle?.text, limit, AliasTable.read)
    }

    private func readNext<Value>(
        _ select: String, _ key: String, after last: String?, _ limit: Int,
        _ read: (SQLRow) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> [Value] {
        var conditions = RowConditions()
        conditions.add("\(key) > ?", last) { $0.bind($1) }
        return try self.read { database in
            let rows = try SQLRow(database, select + conditions.sql + " ORDER BY \(key) LIMIT ?")
            conditions.bind(to: rows)
            rows.bind(Int64(max(0, limit)))
            return try rows.all(read)
        }
    }
}
