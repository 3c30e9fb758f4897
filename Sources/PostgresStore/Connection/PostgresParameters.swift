import CallVocabulary
import Glibc
import RecordTables

/// The parameters of one execution, in PostgreSQL's binary format.
///
/// Values that are bound in place must stay at their address until the statement was sent.
struct PostgresParameters {
    private enum Value {
        case null
        /// A range of `copies`.
        case copied(Range<Int>)
        case inPlace(UnsafeRawBufferPointer)
    }

    private var values: [Value] = []
    private var copies: [UInt8] = []

    var count: Int { values.count }

    mutating func removeAll() {
        values.removeAll(keepingCapacity: true)
        copies.removeAll(keepingCapacity: copies.capacity <= 1 << 16)
    }

    mutating func bindNull() { values.append(.null) }

    mutating func bind(_ number: Int64) { withUnsafeBytes(of: number.bigEndian) { copy($0) } }

    mutating func bind<Subject>(_ identifier: Identifier<Subject>) {
        withUnsafeBytes(of: (identifier.high.bigEndian, identifier.low.bigEndian)) { copy($0) }
    }

    mutating func bind(_ text: String) {
        var text = text
        text.withUTF8 { bind(text: UnsafeRawBufferPointer($0)) }
    }

    mutating func bind(text bytes: UnsafeRawBufferPointer) {
        let start = copies.count
        Self.append(bytes, to: &copies)
        values.append(.copied(start..<copies.count))
    }

    mutating func bind(copying bytes: UnsafeRawBufferPointer) { copy(bytes) }

    mutating func bindInPlace(_ bytes: UnsafeRawBufferPointer) { values.append(.inPlace(bytes)) }

    /// Binds the next `count` values of operations.
    /// - Returns: false when the operations end before.
    mutating func bind(from operations: inout OperationReader, count: Int) -> Bool {
        for _ in 0..<count {
            switch operations.value() {
            case .null?: bindNull()
            case .integer(let number)?: bind(number)
            case .identifier(let start)?: bindInPlace(UnsafeRawBufferPointer(start: start, count: 16))
            case .text(let bytes)?:
                if Self.hasZero(bytes) { bind(text: bytes) } else { bindInPlace(bytes) }
            case nil: return false
            }
        }
        return true
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
        let start = copies.count
        copies += bytes
        values.append(.copied(start..<copies.count))
    }

    private static func hasZero(_ text: UnsafeRawBufferPointer) -> Bool {
        text.baseAddress.map { memchr($0, 0, text.count) != nil } ?? false
    }

    /// PostgreSQL has no text with a zero byte: it becomes U+FFFD. Texts of clients have none; one that did would
    /// otherwise fail every commit from then on.
    private static func append(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        guard hasZero(text) else { return bytes += text }
        for byte in text { if byte == 0 { bytes += "\u{FFFD}".utf8 } else { bytes.append(byte) } }
    }

    /// Runs `body` with the arrays that libpq takes.
    func withArrays<Result>(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int32>?, _ formats: UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        copies.withUnsafeBytes { copies in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: max(1, count)) { pointers in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: max(1, 2 * count)) { numbers in
                    for (index, value) in values.enumerated() {
                        let bytes: UnsafeRawBufferPointer? =
                            switch value {
                            case .null: nil
                            case .copied(let range): UnsafeRawBufferPointer(rebasing: copies[range])
                            case .inPlace(let bytes): bytes
                            }
                        numbers[index] = Int32(bytes?.count ?? 0)
                        numbers[count + index] = 1
                        // An empty value has any address: none would be NULL.
                        let start = bytes.map { $0.baseAddress ?? UnsafeRawPointer(Self.anywhere) }
                        pointers[index] = start?.assumingMemoryBound(to: CChar.self)
                    }
                    let numbers = UnsafePointer(numbers.baseAddress)
                    return body(UnsafePointer(pointers.baseAddress), numbers, numbers.map { $0 + count })
                }
            }
        }
    }

    /// Proof for `(unsafe)`: never read or written, only an address.
    private nonisolated(unsafe) static let anywhere = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
}
