import StoreInterface

/// All rows of all tables, for a copy of a store to another one.
package enum TableContents {
    /// A table as it is copied.
    package struct Part: Sendable {
        package let name: String
        /// All columns but those that each database fills in by itself.
        let columns: [String]
        /// The columns of the order in which rows are read.
        let key: [String]

        fileprivate init(_ layout: TableLayout) {
            name = layout.name
            let number = layout.numbering.map { [$0] } ?? []
            columns = number + layout.columns + (layout.standsWithCall ? ["call_serial"] : [])
            key = layout.numbering.map { [$0] } ?? layout.key
        }

        fileprivate init(_ name: String, _ key: [String]) {
            self.name = name
            columns = key
            self.key = key
        }
    }

    package static let parts: [Part] = [
        Part(DeviceTable.layout), Part(TokenTable.layout), Part(MissedTable.layout), Part(CallTable.layout),
        Part("call_party", ["user", "created_at", "call_serial"]), Part(LegTable.layout), Part(PushTable.layout),
        Part(DescriptionsTable.layout), Part(AbsenceTable.layout), Part(CandidateTable.layout), Part(EventTable.layout),
        Part(GroupTable.layout), Part(UserTable.layout), Part(AliasTable.layout), Part(RulesTable.layout),
        Part(RevocationTable.layout),
    ]

    /// A page of a part's rows, in the order of its key.
    package struct Page: Sendable {
        package var rows: [[StoredValue]] = []
        /// The key of the last row; nil before the first one.
        package var last: [StoredValue]?

        package init() {}
    }
}

extension TableQueries {
    /// How many rows each table has, by name.
    package func rowCounts() throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for part in TableContents.parts {
            counts[part.name] = try source.statement("SELECT count(*) FROM \(part.name)").first { Int($0.int()) } ?? 0
        }
        return counts
    }

    /// The next rows of a table; none at its end.
    package func rows(
        of part: TableContents.Part, after page: TableContents.Page, limit: Int
    ) throws -> TableContents.Page {
        let key = part.key.joined(separator: ", ")
        let marks = part.key.map { _ in "?" }.joined(separator: ", ")
        let condition = page.last == nil ? "" : "WHERE (\(key)) > (\(marks))"
        let columns = part.columns.joined(separator: ", ")
        let row = try source.statement(
            "SELECT \(key), \(columns) FROM \(part.name) \(condition) ORDER BY \(key) LIMIT ?")
        for value in page.last ?? [] { row.bind(value) }
        row.bind(Int64(limit))
        var next = TableContents.Page()
        next.rows = try row.all { row in
            next.last = part.key.map { _ in row.value() }
            return part.columns.map { _ in row.value() }
        }
        return next
    }

    /// Inserts rows as they are.
    package func insert(_ rows: [[StoredValue]], into part: TableContents.Part) throws {
        guard !rows.isEmpty else { return }
        let row = "(\(part.columns.map { _ in "?" }.joined(separator: ", ")))"
        let values = rows.map { _ in row }.joined(separator: ", ")
        let insert = try source.statement(
            "INSERT INTO \(part.name) (\(part.columns.joined(separator: ", "))) VALUES \(values)")
        for value in rows.joined() { insert.bind(value) }
        _ = try insert.change()
    }

    /// Goes on with the positions of events after those of another store.
    package func noteLastEvent(_ position: Int64) throws {
        let sql =
            switch source.dialect {
            case .sqlite: "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'event'"
            case .postgreSQL: "UPDATE event_position SET deleted = greatest(deleted, ?)"
            }
        let row = try source.statement(sql)
        row.bind(position)
        guard try row.change() == 0, source.dialect == .sqlite else { return }
        // The row is there from the first event on.
        let first = try source.statement("INSERT INTO sqlite_sequence (name, seq) VALUES ('event', ?)")
        first.bind(position)
        _ = try first.change()
    }
}
