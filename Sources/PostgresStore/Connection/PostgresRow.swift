import CallVocabulary
import Foundation
import RecordTables
import StoreInterface

/// A statement on a PostgreSQL connection. All its rows are read when the first one is asked for.
package final class PostgresRow: StatementRow {
    private let connection: PostgresConnection
    private let text: String
    private var parameters = PostgresParameters()
    private var result: PostgresResult?
    private var row: Int32 = -1
    private var column: Int32 = 0

    init(_ connection: PostgresConnection, _ text: String) {
        self.connection = connection
        self.text = text
    }

    package func bind<Subject>(_ identifier: Identifier<Subject>) { parameters.bind(identifier) }

    package func bind(_ text: String) { parameters.bind(text) }

    package func bind(_ number: Int64) { parameters.bind(number) }

    package func bind(_ value: StoredValue) {
        switch value {
        case .null: parameters.bindNull()
        case .integer(let number): parameters.bind(number)
        case .identifier(let bytes): bytes.withUnsafeBytes { parameters.bind(copying: $0) }
        case .text(let bytes): bytes.withUnsafeBytes { parameters.bind(text: $0) }
        }
    }

    package func next() throws(StoreFailure) -> Bool {
        if result == nil {
            defer { parameters.removeAll() }
            result = try connection.run(text, parameters)
        }
        row += 1
        column = 0
        if let result, row < result.rowCount { return true }
        reset()
        return false
    }

    package func change() throws(StoreFailure) -> Int {
        defer { reset() }
        return try connection.run(text, parameters).changedCount
    }

    package func reset() {
        parameters.removeAll()
        result = nil
        row = -1
    }

    package func optionalInt() -> Int64? {
        defer { column += 1 }
        return result?.int(row, column)
    }

    package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        defer { column += 1 }
        return result?.withBytes(row, column, body)
    }

    package func value() -> StoredValue {
        defer { column += 1 }
        return result?.value(row, column) ?? .null
    }

    package func unreadable() -> StoreFailure {
        let last = column - 1
        let name = result?.name(of: last) ?? "\(last)"
        let table = text.components(separatedBy: " FROM ").dropFirst().first?.prefix { !$0.isWhitespace } ?? "?"
        let value = result.map { $0.text(row, last) ?? "NULL" } ?? ""
        return failure(.unreadableRow, "\(table).\(name) holds “\(value.prefix(64))”")
    }

    package func failure(_ reason: StoreFailure.Reason, _ detail: String) -> StoreFailure {
        StoreFailure(reason, path: connection.path, detail: detail)
    }
}

@available(*, unavailable)
extension PostgresRow: Sendable {}

/// A connection within a transaction.
package struct PostgresStatements: StatementSource {
    let connection: PostgresConnection

    package var dialect: SQLDialect { .postgreSQL }

    package func statement(_ sql: String) -> PostgresRow { PostgresRow(connection, sql) }

    /// Every statement is prepared once.
    package func cachedStatement(_ sql: String) -> PostgresRow { statement(sql) }
}
