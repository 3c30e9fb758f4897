import CPostgreSQL
import CallVocabulary
import RecordTables

/// A result of libpq, in binary format.
final class PostgresResult {
    private let library: UnsafePointer<postgresql>
    private let raw: OpaquePointer

    /// Takes ownership of `raw`.
    init(_ raw: OpaquePointer, _ library: UnsafePointer<postgresql>) {
        self.raw = raw
        self.library = library
    }

    deinit { library.pointee.PQclear(raw) }

    /// Runs `body` with the result of libpq. Without this, a result that nobody uses afterwards could be cleared before
    /// `body` has read from it.
    func withRaw<Value, Failure: Error>(_ body: (OpaquePointer) throws(Failure) -> Value) throws(Failure) -> Value {
        defer { withExtendedLifetime(self) {} }
        return try body(raw)
    }

    var rowCount: Int32 { withRaw { library.pointee.PQntuples($0) } }

    var columnCount: Int32 { withRaw { library.pointee.PQnfields($0) } }

    /// How many rows the statement has written.
    var changedCount: Int {
        let text = withRaw { raw in library.pointee.PQcmdTuples(raw).map { String(cString: $0) } }
        return text.flatMap { Int(digits: $0, in: 0...Int.max) } ?? 0
    }

    func name(of column: Int32) -> String? {
        withRaw { raw in library.pointee.PQfname(raw, column).map { String(cString: $0) } }
    }

    /// Runs `body` with the bytes of a value, which are valid meanwhile; nil for NULL.
    func withBytes<Value>(_ row: Int32, _ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        guard row < rowCount, column < columnCount else { return nil }
        return withRaw { raw -> Value? in
            guard library.pointee.PQgetisnull(raw, row, column) == 0 else { return nil }
            return body(
                UnsafeRawBufferPointer(
                    start: library.pointee.PQgetvalue(raw, row, column),
                    count: Int(library.pointee.PQgetlength(raw, row, column))))
        }
    }

    /// An integer or truth value of 1 to 8 bytes, most significant first; nil for NULL, and for a column of another
    /// type, which an administrator may have made.
    func int(_ row: Int32, _ column: Int32) -> Int64? {
        let number = withBytes(row, column) { bytes -> Int64? in
            switch bytes.count {
            case 8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
            case 4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
            case 2: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
            case 1: Int64(bytes[0])
            default: nil
            }
        }
        return number ?? nil
    }

    /// A count, a time or a time span in milliseconds, cut to 0 to 2^53: sums of such numbers do not overflow.
    func amount(_ row: Int32, _ column: Int32) -> Int64? { int(row, column).map { min(max($0, 0), 1 << 53) } }

    func value(_ row: Int32, _ column: Int32) -> StoredValue {
        guard let bytes = withBytes(row, column, { Array($0) }) else { return .null }
        // The types of `pg_type.dat`.
        switch withRaw({ library.pointee.PQftype($0, column) }) {
        case 20, 21, 23, 16: return .integer(int(row, column) ?? 0)
        case 2950: return .identifier(bytes)
        default: return .text(bytes)
        }
    }

    func text(_ row: Int32, _ column: Int32) -> String? {
        withBytes(row, column) { String(decoding: $0, as: UTF8.self) }
    }

    /// A text for people, which whoever may write to the database may have written.
    func words(_ row: Int32, _ column: Int32) -> String? { text(row, column)?.printable(upTo: 1000) }
}

@available(*, unavailable)
extension PostgresResult: Sendable {}
