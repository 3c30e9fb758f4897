/// The columns of a table in the order in which they are bound and read, and the SQL made of them.
struct TableLayout {
    let name: String
    /// What identifies a row; empty where rows are only added and deleted.
    let key: [String]
    /// Never changed after the row is written, so an update does not touch the indexes on them.
    let fixed: [String]
    /// All of them, key and fixed ones included.
    let columns: [String]
    /// Whether a row has, besides the id of its call in the column `call`, that call's serial in `call_serial`. Indexes on it
    /// grow at their end, where those on the random ids would have a page of their own for each row.
    var standsWithCall = false

    /// Binds all of `columns`; a row with the same key is replaced where it stands, which keeps its rowid and the
    /// index entries of what did not change.
    var upsert: String {
        let changing = columns.filter { !key.contains($0) && !fixed.contains($0) }
        return """
            \(insert) ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \
            \(changing.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """
    }

    /// Binds all of `columns` to a new row.
    var insert: String {
        let serial = standsWithCall ? (", call_serial", ", \(callSerial)") : ("", "")
        return """
            INSERT INTO \(name) (\(columns.joined(separator: ", "))\(serial.0)) \
            VALUES (\(columns.map { _ in "?" }.joined(separator: ", "))\(serial.1))
            """
    }

    /// That of the call which is bound; 0, which is none's, for one that the store does not have.
    private var callSerial: String { "coalesce((SELECT serial FROM call WHERE id = ?\(parameter("call"))), 0)" }

    /// Rows of the call whose id is bound.
    static let ofCall = "call_serial = (SELECT serial FROM call WHERE id = ?)"

    /// Which of the question marks is bound to `column`, counted from 1.
    func parameter(_ column: String) -> Int32 {
        guard let index = columns.firstIndex(of: column) else { preconditionFailure("\(name) has no \(column)") }
        return Int32(index) + 1
    }

    /// `SELECT` of all of `columns`, up to and with `FROM`.
    var select: String {
        "SELECT \(columns.map { "\(name).\($0)" }.joined(separator: ", ")) FROM \(name)"
    }
}
