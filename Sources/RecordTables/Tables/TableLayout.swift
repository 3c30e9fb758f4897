/// The columns of a table in the order of binding and reading, and the SQL generated from them.
package struct TableLayout {
    package let name: String
    /// The columns that identify a row; empty for rows that are only inserted and deleted.
    package let key: [String]
    /// Columns that never change, so that an update does not touch their indexes.
    package let fixed: [String]
    /// All columns, including `key` and `fixed`.
    package let columns: [String]
    /// Whether a row has its call's serial in `call_serial`, besides the call's id in `call`. Indexes on serials grow
    /// at their end, where an index on random ids has a page of its own for each row.
    package var standsWithCall = false

    /// The column with the row's number, which grows with each new row; nil for tables without one. SQLite numbers rows
    /// itself. In PostgreSQL the statement does it: a sequence would skip numbers at each upsert, and would not be
    /// in the order of commits.
    package var numbering: String?

    /// Binds all `columns`. A row with the same key is updated in place, which keeps its rowid and the index entries of
    /// unchanged columns.
    package var upsert: String { upsert(.sqlite) }

    package func upsert(_ dialect: SQLDialect) -> String {
        let changing = columns.filter { !key.contains($0) && !fixed.contains($0) }
        return """
            \(insert(dialect)) ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \
            \(changing.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """
    }

    /// Binds all `columns` of a new row.
    package func insert(_ dialect: SQLDialect) -> String {
        var (names, values) = (columns, columns.map { _ in "?" })
        if standsWithCall {
            names.append("call_serial")
            values.append(callSerial)
        }
        if dialect == .postgreSQL, let numbering {
            names.append(numbering)
            values.append(dialect.nextNumber(numbering, of: name))
        }
        return "INSERT INTO \(name) (\(names.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))"
    }

    /// The serial of the bound call; 0, which no call has, when the store does not have it.
    private var callSerial: String { "coalesce((SELECT serial FROM call WHERE id = ?\(parameter("call"))), 0)" }

    /// The condition for rows of the call whose id is bound.
    package static let ofCall = "call_serial = (SELECT serial FROM call WHERE id = ?)"

    /// The position of the parameter for `column`, counted from 1.
    package func parameter(_ column: String) -> Int32 {
        guard let index = columns.firstIndex(of: column) else { preconditionFailure("\(name) has no \(column)") }
        return Int32(index) + 1
    }

    /// The `SELECT` of all `columns`, including `FROM`.
    package var select: String {
        "SELECT \(columns.map { "\(name).\($0)" }.joined(separator: ", ")) FROM \(name)"
    }
}
