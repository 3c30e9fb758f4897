/// The SQL that the two databases do not have in common.
package enum SQLDialect: Sendable {
    case sqlite
    case postgreSQL

    /// An id without a subject.
    var zeroID: String {
        switch self {
        case .sqlite: "zeroblob(16)"
        case .postgreSQL: "'00000000-0000-0000-0000-000000000000'::uuid"
        }
    }

    /// The digits of the id in a column, upper case.
    func digits(of column: String) -> String {
        switch self {
        case .sqlite: "hex(\(column))"
        case .postgreSQL: "upper(replace(\(column)::text, '-', ''))"
        }
    }

    /// The last characters of a text, as many as the bound text has.
    func suffix(of text: String) -> String {
        switch self {
        case .sqlite: "substr(\(text), -length(?))"
        case .postgreSQL: "right(\(text), length(?))"
        }
    }

    /// Whether a text is in the bound JSON list.
    func isListed(_ text: String) -> String {
        switch self {
        case .sqlite: "\(text) IN (SELECT value FROM json_each(?))"
        case .postgreSQL: "\(text) = ANY (ARRAY (SELECT json_array_elements_text(?::json)))"
        }
    }

    /// The last characters of a text. Indexes have the same expression.
    package func end(of text: String, _ count: Int) -> String {
        switch self {
        case .sqlite: "substr(\(text), -\(count))"
        case .postgreSQL: "right(\(text), \(count))"
        }
    }

    /// Selects the position of the last event ever stored.
    var lastEvent: String {
        switch self {
        case .sqlite: "SELECT seq FROM sqlite_sequence WHERE name = 'event'"
        case .postgreSQL:
            "SELECT greatest((SELECT coalesce(max(position), 0) FROM event), (SELECT deleted FROM event_position))"
        }
    }

    /// The number of a new row: one more than all rows before it. An expression, for PostgreSQL.
    func nextNumber(_ column: String, of table: String) -> String {
        // Positions of deleted events are not used again; numbers of other rows may be, as in SQLite.
        let deleted = table == EventTable.layout.name ? ", (SELECT deleted FROM event_position)" : ""
        return "greatest((SELECT max(\(column)) FROM \(table)), 0\(deleted)) + 1"
    }
}
