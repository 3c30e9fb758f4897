/// Decodes the bytes of an ``OperationBuffer``. Data from disk is not trusted: nothing is read beyond the end.
package struct OperationReader {
    package enum Value {
        case null
        case integer(Int64)
        /// Points into the operations.
        case identifier(UnsafeRawPointer)
        case text(UnsafeRawBufferPointer)
    }

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// - Parameter bytes: must stay at their address while the reader and its values are used.
    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package var isAtEnd: Bool { offset == bytes.count }

    /// The number of the next operation's statement.
    package mutating func statement() -> UInt8? { byte() }

    /// The next value; nil when it is invalid or truncated.
    package mutating func value() -> Value? {
        guard let tag = byte().flatMap(ValueTag.init) else { return nil }
        switch tag {
        case .null: return .null
        case .zero: return .integer(0)
        case .one: return .integer(1)
        case .integer:
            return take(8).map { .integer(Int64(littleEndian: $0.loadUnaligned(as: Int64.self))) }
        case .identifier: return take(16).flatMap(\.baseAddress).map { .identifier($0) }
        case .shortText: return byte().flatMap { text(Int($0)) }
        case .longText:
            return take(4).flatMap { text(Int(UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)))) }
        }
    }

    private mutating func text(_ count: Int) -> Value? { take(count).map { .text($0) } }

    private mutating func byte() -> UInt8? {
        guard offset < bytes.count else { return nil }
        defer { offset += 1 }
        return bytes[offset]
    }

    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count <= bytes.count - offset else { return nil }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }
}
