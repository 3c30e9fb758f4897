/// A buffer pool for payloads relayed from one client to another.
///
/// A relayed payload crosses threads and is kept until it is acknowledged, so it cannot stay in the frame it arrived
/// in. Each buffer is an ordinary array. `fill` returns a copy, which shares storage with the pool's. In its next turn
/// the pool writes in place if all copies are gone. Otherwise copy-on-write gives the buffer new storage: shared bytes
/// are never overwritten, and a payload kept for long costs one allocation.
///
/// Confined to one thread; its arrays may go to any. ThreadSanitizer does not see the reference counts of Swift's
/// arrays, and takes the reuse of storage for a race with its last reader.
public final class PayloadMemory {
    /// Buffer sizes in bytes; larger payloads are rare.
    private static let sizes = [256, 512, 1024, 2048, 4096, 8192]

    private var shelves: [PayloadShelf]

    /// - Parameter shelfBytes: the most bytes kept for each of the six sizes. Payloads beyond that are allocated each
    ///   time.
    public init(shelfBytes: Int = 1 << 20) {
        shelves = Self.sizes.map { PayloadShelf(size: $0, most: max(1, shelfBytes / $0)) }
    }

    /// Returns the bytes that `write` appends to an empty array.
    ///
    /// - Parameter count: the expected size; a larger one costs an allocation.
    /// - Throws: the error of `write`.
    func fill<Failure: Error>(
        upTo count: Int, _ write: (inout [UInt8]) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        guard let shelf = shelves.firstIndex(where: { count <= $0.size }) else {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(count)
            try write(&bytes)
            return bytes
        }
        return try shelves[shelf].fill(write)
    }
}

@available(*, unavailable)
extension PayloadMemory: Sendable {}
