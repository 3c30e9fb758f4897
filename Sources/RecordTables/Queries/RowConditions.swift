/// SQL conditions with their bindings.
package struct RowConditions {
    private var texts: [String] = []
    private var bindings: [(any StatementRow) -> Void] = []

    /// - Parameter bind: binds the question marks of `text`.
    mutating func add(_ text: String, _ bind: @escaping (any StatementRow) -> Void = { _ in }) {
        texts.append(text)
        bindings.append(bind)
    }

    /// Adds the condition unless `value` is nil.
    mutating func add<Value>(_ text: String, _ value: Value?, _ bind: @escaping (any StatementRow, Value) -> Void) {
        guard let value else { return }
        add(text) { bind($0, value) }
    }

    /// ` WHERE …`, or nothing.
    var sql: String { texts.isEmpty ? "" : " WHERE " + texts.joined(separator: " AND ") }

    package func bind(to row: any StatementRow) {
        for bind in bindings { bind(row) }
    }
}
