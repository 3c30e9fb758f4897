import CallCore

/// Records with the operations that write them.
package struct EncodedRecords: Sendable {
    package var batches: [[StoreRecord]]
    package var chunk: OperationChunk
    /// The end of each record's operations in `chunk`.
    package var ends: [Int]
}

/// Encodes records to operations, in a reused buffer.
package struct RecordEncoder: ~Copyable {
    private var buffer = OperationBuffer()

    package init() {}

    /// - Parameter bytes: no further batch is encoded once these are reached.
    package mutating func encode(_ batches: some Sequence<[StoreRecord]>, upTo bytes: Int = .max) -> EncodedRecords {
        buffer.removeAll()
        var batches = Array(batches)
        var ends: [Int] = []
        ends.reserveCapacity(batches.reduce(0) { $0 + $1.count })
        for (index, batch) in batches.enumerated() {
            for record in batch {
                buffer.append(record)
                ends.append(buffer.bytes.count)
            }
            if buffer.bytes.count >= bytes {
                batches.removeSubrange((index + 1)...)
                break
            }
        }
        return EncodedRecords(batches: batches, chunk: OperationChunk(copying: buffer), ends: ends)
    }
}
