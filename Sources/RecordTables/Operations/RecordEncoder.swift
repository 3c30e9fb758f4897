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

    package mutating func encode(_ batches: some Sequence<[StoreRecord]>) -> EncodedRecords {
        buffer.removeAll()
        let batches = Array(batches)
        var ends: [Int] = []
        ends.reserveCapacity(batches.reduce(0) { $0 + $1.count })
        for batch in batches {
            for record in batch {
                buffer.append(record)
                ends.append(buffer.bytes.count)
            }
        }
        return EncodedRecords(batches: batches, chunk: OperationChunk(copying: buffer), ends: ends)
    }
}
