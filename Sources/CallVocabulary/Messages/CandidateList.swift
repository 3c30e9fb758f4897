/// The values of a `candidates` array, byte for byte, in one buffer: the server relays them unread.
public struct CandidateList: Hashable, Sendable {
    /// Each value preceded by its length, a `UInt32` in native byte order.
    public private(set) var bytes: [UInt8]

    private static let lengthSize = MemoryLayout<UInt32>.size

    public init() { bytes = [] }

    /// - Parameter bytes: written by ``append(_:to:)`` alone.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    public init(_ values: some Sequence<RawJSON>) {
        self.init()
        for value in values { append(value) }
    }

    public var isEmpty: Bool { bytes.isEmpty }

    public mutating func append(_ value: RawJSON) {
        value.bytes.withUnsafeBytes { append($0) }
    }

    /// - Parameter value: as for ``append(_:to:)``.
    public mutating func append(_ value: UnsafeRawBufferPointer) { Self.append(value, to: &bytes) }

    /// Appends a value to the bytes of a list.
    /// - Parameter value: exactly one JSON value, without white space around it.
    public static func append(_ value: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt32(value.count)) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: value)
    }

    /// The number of bytes that ``append(_:to:)`` adds for `value`.
    package static func size(of value: UnsafeRawBufferPointer) -> Int { lengthSize + value.count }

    /// Calls `body` with the bytes of each value in order; valid only during the call.
    public func forEachValue(_ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let value = Self.range(ofValueAt: start, in: bytes)
                body(UnsafeRawBufferPointer(rebasing: bytes[value]))
                start = value.upperBound
            }
        }
    }

    /// Whether there are more than `limit` values. Looks at no more than that.
    public func hasMore(than limit: Int) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var (start, count) = (0, 0)
            while start < bytes.count {
                if count == limit { return true }
                start = Self.range(ofValueAt: start, in: bytes).upperBound
                count += 1
            }
            return false
        }
    }

    private static func range(ofValueAt start: Int, in bytes: UnsafeRawBufferPointer) -> Range<Int> {
        precondition(bytes.count - start >= lengthSize, "a value stands behind its length")
        let first = start + lengthSize
        let count = Int(bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self))
        precondition(count <= bytes.count - first, "a value is as long as it says")
        return first..<first + count
    }
}

/// Iterates over the values, copying each.
extension CandidateList: Sequence {
    public struct Iterator: IteratorProtocol {
        fileprivate let bytes: [UInt8]
        private var start = 0

        fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

        public mutating func next() -> RawJSON? {
            guard start < bytes.count else { return nil }
            let value = bytes.withUnsafeBytes { CandidateList.range(ofValueAt: start, in: $0) }
            start = value.upperBound
            return RawJSON(bytes: Array(bytes[value]))
        }
    }

    public func makeIterator() -> Iterator { Iterator(bytes: bytes) }

    public var underestimatedCount: Int { count }

    /// The number of values. O(n).
    public var count: Int {
        var count = 0
        forEachValue { _ in count += 1 }
        return count
    }
}

extension CandidateList: ExpressibleByArrayLiteral {
    public init(arrayLiteral values: RawJSON...) { self.init(values) }
}

extension CandidateList: Redacted {
    /// Count and size only: the content is private to the parties.
    public var description: String { "‹\(count) in \(bytes.count) bytes›" }
}
