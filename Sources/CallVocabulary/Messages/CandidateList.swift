/// The values of a `candidates` array, each as it came, all in one piece of memory: what passes through the server unread
/// needs no more than that.
public struct CandidateList: Hashable, Sendable {
    /// Each value behind its length, a `UInt32` in the machine's order.
    public private(set) var bytes: [UInt8]

    private static let lengthSize = MemoryLayout<UInt32>.size

    public init() { bytes = [] }

    /// - Parameter bytes: as ``append(_:to:)`` has written them, and nothing else.
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

    /// Adds a value to the bytes of a list.
    /// - Parameter value: exactly one JSON value, without white space around it.
    public static func append(_ value: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt32(value.count)) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: value)
    }

    /// What ``append(_:to:)`` adds for `value`, in bytes.
    package static func size(of value: UnsafeRawBufferPointer) -> Int { lengthSize + value.count }

    /// Calls `body` with the bytes of each value in order. They are lent for the time of the call.
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

    private static func range(ofValueAt start: Int, in bytes: UnsafeRawBufferPointer) -> Range<Int> {
        precondition(bytes.count - start >= lengthSize, "a value stands behind its length")
        let first = start + lengthSize
        let count = Int(bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self))
        precondition(count <= bytes.count - first, "a value is as long as it says")
        return first..<first + count
    }
}

/// One by one, each with memory of its own.
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

    /// How many there are, which takes a look at each.
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
    /// How many there are and their size: what the sides of a call tell each other is their own.
    public var description: String { "‹\(count) in \(bytes.count) bytes›" }
}
