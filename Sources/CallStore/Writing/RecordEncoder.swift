import CallCore

/// Records with the operations that write them.
struct EncodedRecords: Sendable {
    var batches: [[StoreRecord]]
    var chunk: OperationChunk
    /// The end of each record's operations in `chunk`.
    var ends: [Int]
}

/// Encodes records to operations, in a reused buffer.
struct RecordEncoder: ~Copyable {
    private var buffer = OperationBuffer()

    init() {}

    mutating func encode(_ batches: some Sequence<[StoreRecord]>) -> EncodedRecords {
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
