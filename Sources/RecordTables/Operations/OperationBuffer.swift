import CallCore
import CallVocabulary

/// Encodes statements with their parameters as bytes. A record is encoded once, and then kept in the journal or in
/// memory, or run at once.
///
/// Each operation is the number of its ``StoreStatement``, followed by a ``ValueTag`` and a value for each question
/// mark in order.
package struct OperationBuffer {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func removeAll() { bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity) }

    /// A larger buffer is released after use.
    private static let keptCapacity = 1 << 20

    package mutating func begin(_ statement: StoreStatement) { bytes.append(statement.rawValue) }

    // MARK: Values, in the order of the question marks

    package mutating func bind<Subject>(_ identifier: Identifier<Subject>) {
        append((tagWord(.identifier), identifier.high.bigEndian, identifier.low.bigEndian))
    }

    package mutating func bind<Subject>(_ identifier: Identifier<Subject>?) {
        if let identifier { bind(identifier) } else { bindNull() }
    }

    package mutating func bind(_ text: String) {
        let utf8 = text.utf8
        let isDone: Void? = utf8.withContiguousStorageIfAvailable { bindText(UnsafeRawBufferPointer($0)) }
        // The string was bridged, or has another encoding.
        if isDone == nil { Array(utf8).withUnsafeBytes { bindText($0) } }
    }

    package mutating func bind(_ text: String?) {
        if let text { bind(text) } else { bindNull() }
    }

    package mutating func bind(_ handle: Handle) { bind(handle.text) }

    package mutating func bind(_ handle: Handle?) {
        if let handle { bind(handle.text) } else { bindNull() }
    }

    package mutating func bind(_ handles: [Handle]) { bindText { JSONText.append(handles, to: &$0) } }

    package mutating func bind(_ handles: [Handle]?) {
        if let handles { bind(handles) } else { bindNull() }
    }

    /// Binds text, byte for byte.
    package mutating func bind(_ json: RawJSON?) {
        guard let json else { return bindNull() }
        json.bytes.withUnsafeBytes { bindText($0) }
    }

    package mutating func bind(_ value: some RawRepresentable<String>) { bind(value.rawValue) }

    package mutating func bind(_ value: (some RawRepresentable<String>)?) {
        if let value { bind(value.rawValue) } else { bindNull() }
    }

    package mutating func bind(_ number: Int64) {
        append((tagWord(.integer), UInt64(bitPattern: number.littleEndian)))
    }

    package mutating func bind(_ number: Int64?) {
        if let number { bind(number) } else { bindNull() }
    }

    package mutating func bind(_ instant: Instant) { bind(instant.milliseconds) }

    package mutating func bind(_ instant: Instant?) {
        if let instant { bind(instant.milliseconds) } else { bindNull() }
    }

    package mutating func bind(_ flag: Bool) { bytes.append((flag ? ValueTag.one : ValueTag.zero).rawValue) }

    /// Binds NULL, or else the text that `write` appends.
    package mutating func bindText(unless isNull: Bool, _ write: (inout [UInt8]) -> Void) {
        if isNull { bindNull() } else { bindText(write) }
    }

    /// Binds the text that `write` appends.
    package mutating func bindText(_ write: (inout [UInt8]) -> Void) {
        bytes.append(ValueTag.longText.rawValue)
        let start = bytes.count
        bytes.append(contentsOf: [0, 0, 0, 0])
        write(&bytes)
        let count = UInt32(bytes.count - start - 4)
        for place in 0..<4 { bytes[start + place] = UInt8(truncatingIfNeeded: count >> (8 * UInt32(place))) }
    }

    private mutating func bindNull() { bytes.append(ValueTag.null.rawValue) }

    private mutating func bindText(_ text: UnsafeRawBufferPointer) {
        if let count = UInt8(exactly: text.count) {
            bytes.append(ValueTag.shortText.rawValue)
            bytes.append(count)
            bytes.append(contentsOf: text)
        } else {
            bindText { $0.append(contentsOf: text) }
        }
    }

    /// A word with the tag as its last byte.
    private func tagWord(_ tag: ValueTag) -> UInt64 { UInt64(tag.rawValue).bigEndian }

    /// Appends words; of the first word only its last byte.
    private mutating func append<Words: BitwiseCopyable>(_ words: Words) {
        withUnsafeBytes(of: words) {
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[(MemoryLayout<UInt64>.size - 1)...]))
        }
    }
}

/// The type of the next value in an ``OperationBuffer``. The raw values are stored in journals.
package enum ValueTag: UInt8 {
    case null = 0
    /// The integers 0 and 1, with nothing after.
    case zero = 1
    case one = 2
    /// Eight bytes, least significant first.
    case integer = 3
    /// A blob of 16 bytes.
    case identifier = 4
    /// One byte for the length, then UTF-8.
    case shortText = 5
    /// Four bytes for the length, least significant first, then UTF-8.
    case longText = 6
}
