import CallVocabulary
import StoreInterface

/// A statement of SQLite or PostgreSQL, whose parameters are bound, and whose columns are read, one after the other.
///
/// Confined to its connection. Running it makes it ready for the next binding.
package protocol StatementRow: AnyObject {
    // MARK: Parameters, in the order of their question marks

    func bind<Subject>(_ identifier: Identifier<Subject>)
    func bind(_ text: String)
    func bind(_ number: Int64)
    func bind(_ value: StoredValue)

    // MARK: Running

    /// Goes to the next row.
    /// - Returns: false when there is none; the statement is then ready to be bound again.
    func next() throws(StoreFailure) -> Bool
    /// Runs a statement that gives no rows.
    /// - Returns: how many rows it has changed.
    func change() throws(StoreFailure) -> Int
    /// Makes the statement ready to be bound again.
    func reset()

    // MARK: Columns, from left to right

    /// The next integer or truth value; nil for NULL.
    func optionalInt() -> Int64?
    /// Runs `body` with the bytes of the next text or identifier, which are valid meanwhile; nil for NULL.
    func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value?

    /// The next value of any type.
    func value() -> StoredValue

    /// The failure for an unknown value in the last column read.
    func unreadable() -> StoreFailure
    func failure(_ reason: StoreFailure.Reason, _ detail: String) -> StoreFailure
}

extension StatementRow {
    package func bind(_ handle: Handle) { bind(handle.text) }

    package func bind(_ value: some RawRepresentable<String>) { bind(value.rawValue) }

    package func bind(_ instant: Instant) { bind(instant.milliseconds) }

    package func all<Record>(
        _ read: (Self) throws(StoreFailure) -> Record
    ) throws(StoreFailure) -> [Record] {
        try all(while: { _ in true }, read)
    }

    /// - Parameter goesOn: gets each record; false for the last one.
    package func all<Record>(
        while goesOn: (Record) -> Bool, _ read: (Self) throws(StoreFailure) -> Record
    ) throws(StoreFailure) -> [Record] {
        var records: [Record] = []
        do {
            while try next() {
                let record = try read(self)
                records.append(record)
                guard goesOn(record) else {
                    reset()
                    break
                }
            }
        } catch {
            reset()
            throw error
        }
        return records
    }

    package func first<Record>(
        _ read: (Self) throws(StoreFailure) -> Record
    ) throws(StoreFailure) -> Record? {
        defer { reset() }
        return try next() ? try read(self) : nil
    }

    // MARK: Columns, from left to right

    package func text() throws(StoreFailure) -> String {
        guard let text = optionalText() else { throw unreadable() }
        return text
    }

    package func optionalText() -> String? {
        withBytes { String(decoding: $0, as: UTF8.self) }
    }

    package func json() -> RawJSON? {
        withBytes { RawJSON(bytes: Array($0)) }
    }

    /// The next integer; 0 for NULL.
    package func int() -> Int64 { optionalInt() ?? 0 }

    /// The next number of a count, which may grow.
    package func count() throws(StoreFailure) -> Int {
        let number = int()
        guard (0...Int64.max / 2).contains(number) else { throw unreadable() }
        return Int(number)
    }

    package func flag() -> Bool { int() != 0 }

    package func instant() throws(StoreFailure) -> Instant { Instant(milliseconds: try milliseconds(int())) }

    package func optionalInstant() throws(StoreFailure) -> Instant? {
        guard let number = optionalInt() else { return nil }
        return Instant(milliseconds: try milliseconds(number))
    }

    package func optionalDuration() throws(StoreFailure) -> Duration? {
        guard let number = optionalInt() else { return nil }
        return .milliseconds(try milliseconds(number))
    }

    private func milliseconds(_ number: Int64) throws(StoreFailure) -> Int64 {
        guard StoredTime.isPossible(number) else { throw unreadable() }
        return number
    }

    package func identifier<Subject>() throws(StoreFailure) -> Identifier<Subject> {
        guard let identifier: Identifier<Subject> = try optionalIdentifier() else { throw unreadable() }
        return identifier
    }

    package func optionalIdentifier<Subject>() throws(StoreFailure) -> Identifier<Subject>? {
        guard let read = withBytes({ Identifier<Subject>(bytes: $0) }) else { return nil }
        guard let identifier = read else { throw unreadable() }
        return identifier
    }

    package func handle() throws(StoreFailure) -> Handle {
        guard let handle = Handle(known: try text()) else { throw unreadable() }
        return handle
    }

    package func optionalHandle() throws(StoreFailure) -> Handle? { try parsed { Handle(known: $0) } }

    package func value<Value: RawRepresentable<String>>() throws(StoreFailure) -> Value {
        guard let value = Value(rawValue: try text()) else { throw unreadable() }
        return value
    }

    package func optionalValue<Value: RawRepresentable<String>>() throws(StoreFailure) -> Value? {
        try parsed { Value(rawValue: $0) }
    }

    package func handles() throws(StoreFailure) -> [Handle] {
        guard let handles = try parsed(JSONText.handles) else { throw unreadable() }
        return handles
    }

    /// - Returns: nil for NULL.
    package func parsed<Value>(_ parse: (String) -> Value?) throws(StoreFailure) -> Value? {
        guard let text = optionalText() else { return nil }
        guard let value = parse(text) else { throw unreadable() }
        return value
    }
}

/// A value of a row, whatever its column is.
package enum StoredValue: Equatable, Sendable {
    case null
    case integer(Int64)
    /// 16 bytes.
    case identifier([UInt8])
    case text([UInt8])
}

package enum StoredTime {
    /// Whether a number of milliseconds is a possible time or duration. The sum of a larger, damaged number could
    /// overflow.
    package static func isPossible(_ milliseconds: Int64) -> Bool { milliseconds.magnitude < 1 << 53 }
}
