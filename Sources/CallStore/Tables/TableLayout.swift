/// The columns of a table in the order of binding and reading, and the SQL generated from them.
struct TableLayout {
    let name: String
    /// The columns that identify a row; empty for rows that are only inserted and deleted.
    let key: [String]
    /// Columns that never change, so that an update does not touch their indexes.
    let fixed: [String]
    /// All columns, including `key` and `fixed`.
    let columns: [String]
    /// Whether a row has its call's serial in `call_serial`, besides the call's id in `call`. Indexes on serials grow
    /// at their end, where an index on random ids has a page of its own for each row.
    var standsWithCall = false

    /// Binds all `columns`. A row with the same key is updated in place, which keeps its rowid and the index entries of
    /// unchanged columns.
    var upsert: String {
        let changing = columns.filter { !key.contains($0) && !fixed.contains($0) }
        return """
            \(insert) ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \
            \(changing.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """
    }

    /// Binds all `columns` of a new row.
    var insert: String {
        let serial = standsWithCall ? (", call_serial", ", \(callSerial)") : ("", "")
        return """
            INSERT INTO \(name) (\(columns.joined(separator: ", "))\(serial.0)) \
            VALUES (\(columns.map { _ in "?" }.joined(separator: ", "))\(serial.1))
            """
    }

    /// The serial of the bound call; 0, which no call has, when the store does not have it.
    private var callSerial: String { "coalesce((SELECT serial FROM call WHERE id = ?\(parameter("call"))), 0)" }

    /// The condition for rows of the call whose id is bound.
    static let ofCall = "call_serial = (SELECT serial FROM call WHERE id = ?)"

    /// The position of the parameter for `column`, counted from 1.
    func parameter(_ column: String) -> Int32 {
        guard let index = columns.firstIndex(of: column) else { preconditionFailure("\(name) has no \(column)") }
        return Int32(index) + 1
    }

    /// The `SELECT` of all `columns`, including `FROM`.
    var select: String {
        "SELECT \(columns.map { "\(name).\($0)" }.joined(separator: ", ")) FROM \(name)"
    }
}
