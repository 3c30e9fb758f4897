import CallVocabulary
import Foundation
import GRDB
import GRDBSQLite
import RecordTables
import StoreInterface

/// A prepared statement whose parameters are bound, and whose columns are read, one after the other.
///
/// Binds and steps through the C interface, because GRDB's argument arrays cost more than SQLite's work on a row. GRDB
/// manages the connection, the transactions and the statement. Confined to its connection.
package final class SQLRow: StatementRow {
    private let statement: Statement
    private let raw: OpaquePointer
    private var parameter: Int32 = 0
    private var column: Int32 = 0

    init(_ database: Database, _ sql: String) throws {
        statement = try database.makeStatement(sql: sql)
        raw = statement.sqliteStatement
    }

    /// A statement that is prepared once for the life of the connection. It may be in use once at a time.
    init(cached sql: String, _ database: Database) throws {
        statement = try database.cachedStatement(sql: sql)
        raw = statement.sqliteStatement
    }

    // MARK: Parameters, in the order of their question marks

    package func bind<Subject>(_ identifier: Identifier<Subject>) {
        parameter += 1
        let words = (identifier.high.bigEndian, identifier.low.bigEndian)
        check(withUnsafeBytes(of: words) { sqlite3_bind_blob(raw, parameter, $0.baseAddress, 16, copied) })
    }

    package func bind(_ text: String) {
        parameter += 1
        var text = text
        check(text.withUTF8 { bytes in bindText(UnsafeRawBufferPointer(bytes), copied) })
    }

    package func bind(_ number: Int64) {
        parameter += 1
        check(sqlite3_bind_int64(raw, parameter, number))
    }

    package func bind(_ value: StoredValue) {
        parameter += 1
        switch value {
        case .null: check(sqlite3_bind_null(raw, parameter))
        case .integer(let number): check(sqlite3_bind_int64(raw, parameter, number))
        case .identifier(let bytes):
            check(bytes.withUnsafeBytes { sqlite3_bind_blob(raw, parameter, $0.baseAddress, Int32($0.count), copied) })
        case .text(let bytes): check(bytes.withUnsafeBytes { bindText($0, copied) })
        }
    }

    private func bindText(_ bytes: UnsafeRawBufferPointer, _ life: sqlite3_destructor_type?) -> Int32 {
        // A nil pointer would bind NULL, and an empty buffer may have one.
        guard let start = bytes.baseAddress else { return sqlite3_bind_text(raw, parameter, "", 0, copied) }
        return sqlite3_bind_text(raw, parameter, start.assumingMemoryBound(to: CChar.self), Int32(bytes.count), life)
    }

    private func check(_ result: Int32) {
        precondition(
            result == SQLITE_OK,
            "parameter \(parameter) of \(sqlText) cannot be bound: \(String(cString: sqlite3_errstr(result)))")
    }

    // MARK: Parameters that are not copied: valid until the statement has run

    var parameterCount: Int32 { withExtendedLifetime(self) { sqlite3_bind_parameter_count(raw) } }

    /// Binds all parameters.
    /// - Throws: ``StoreFailure/Reason/unreadableRow`` when the operations end before.
    func bind(from operations: inout OperationReader) throws(StoreFailure) {
        for _ in 0..<parameterCount {
            parameter += 1
            switch operations.value() {
            case .null?: check(sqlite3_bind_null(raw, parameter))
            case .integer(let number)?: check(sqlite3_bind_int64(raw, parameter, number))
            case .identifier(let start)?: check(sqlite3_bind_blob(raw, parameter, start, 16, nil))
            case .text(let bytes)?: check(bindText(bytes, nil))
            case nil:
                reset()
                throw failure(.unreadableRow, "journal.operations ends within an operation")
            }
        }
    }

    func bindInPlace(identifier start: UnsafeRawPointer) {
        parameter += 1
        check(sqlite3_bind_blob(raw, parameter, start, 16, nil))
    }

    func bindInPlace(blob bytes: UnsafeRawBufferPointer) {
        parameter += 1
        check(sqlite3_bind_blob64(raw, parameter, bytes.baseAddress, UInt64(bytes.count), nil))
    }

    // MARK: Running

    /// Runs a statement that gives no rows, and makes it ready for the next binding.
    func run() throws(StoreFailure) {
        let hasRow = try next()
        precondition(!hasRow, "\(sqlText) was not expected to give rows")
    }

    /// Runs a statement that gives no rows.
    /// - Returns: how many rows it has changed.
    package func change() throws(StoreFailure) -> Int {
        try run()
        return Int(sqlite3_changes(sqlite3_db_handle(raw)))
    }

    /// Goes to the next row.
    /// - Returns: false when there is none; the statement is then ready to be bound again.
    package func next() throws(StoreFailure) -> Bool {
        precondition(parameter == sqlite3_bind_parameter_count(raw), "parameters of \(sqlText) are not bound")
        column = 0
        let result = sqlite3_step(raw)
        if result == SQLITE_ROW { return true }
        let failure = result == SQLITE_DONE ? nil : lastFailure(result)
        reset()
        if let failure { throw failure }
        return false
    }

    package func reset() {
        // Returns the result of the last step again, which was handled.
        sqlite3_reset(raw)
        parameter = 0
    }

    private func lastFailure(_ result: Int32) -> StoreFailure {
        let connection = sqlite3_db_handle(raw)
        return StoreFailure(
            code: sqlite3_extended_errcode(connection) & 0xFF == result & 0xFF
                ? sqlite3_extended_errcode(connection) : result,
            path: path, detail: String(cString: sqlite3_errmsg(connection)))
    }

    private var path: String {
        withExtendedLifetime(self) {
            sqlite3_db_filename(sqlite3_db_handle(raw), "main").map { String(cString: $0) } ?? ""
        }
    }

    private var sqlText: String {
        withExtendedLifetime(self) { sqlite3_sql(raw).map { String(cString: $0) } ?? "" }
    }

    // MARK: Columns, from left to right

    package func int() -> Int64 {
        defer { column += 1 }
        return sqlite3_column_int64(raw, column)
    }

    package func optionalInt() -> Int64? {
        guard sqlite3_column_type(raw, column) != SQLITE_NULL else {
            column += 1
            return nil
        }
        return int()
    }

    package func value() -> StoredValue {
        switch sqlite3_column_type(raw, column) {
        case SQLITE_NULL:
            column += 1
            return .null
        case SQLITE_INTEGER: return .integer(int())
        case SQLITE_BLOB: return .identifier(withBytes { Array($0) } ?? [])
        default: return .text(withBytes { Array($0) } ?? [])
        }
    }

    package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        defer { column += 1 }
        guard sqlite3_column_type(raw, column) != SQLITE_NULL else { return nil }
        // The statement frees the value with its next step, and with itself.
        return withExtendedLifetime(self) { () -> Value in
            // The pointer has to be taken before the length (sqlite.org/c3ref/column_blob.html); it is nil for an empty
            // value.
            let start = sqlite3_column_blob(raw, column)
            return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(raw, column))))
        }
    }

    /// The failure for an unknown value in the last column read.
    package func unreadable() -> StoreFailure {
        let last = column - 1
        let name = sqlite3_column_name(raw, last).map { String(cString: $0) } ?? "\(last)"
        let table = sqlText.components(separatedBy: " FROM ").dropFirst().first?.prefix { !$0.isWhitespace } ?? "?"
        let value = sqlite3_column_text(raw, last).map { String(cString: $0) } ?? "NULL"
        return failure(.unreadableRow, "\(table).\(name) holds “\(value.prefix(64))”")
    }

    package func failure(_ reason: StoreFailure.Reason, _ detail: String) -> StoreFailure {
        StoreFailure(reason, path: path, detail: detail)
    }
}

@available(*, unavailable)
extension SQLRow: Sendable {}

/// A GRDB connection within a read or a transaction.
package struct SQLiteStatements: StatementSource {
    let database: Database

    package var dialect: SQLDialect { .sqlite }

    package func statement(_ sql: String) throws -> SQLRow { try SQLRow(database, sql) }

    package func cachedStatement(_ sql: String) throws -> SQLRow { try SQLRow(cached: sql, database) }
}

extension TableQueries where Source == SQLiteStatements {
    init(_ database: Database) { self.init(SQLiteStatements(database: database)) }
}

/// `SQLITE_TRANSIENT`, a cast macro that Swift does not import: SQLite copies what it is given.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
