/// Memory for what messages carry from one client to another, used again when nobody holds it any more.
///
/// What is relayed crosses threads and is kept until it is acknowledged, so it cannot stay in the frame that brought it.
/// Each piece of memory here is an array like any other. Who asked for it gets a copy of the array, which shares the memory;
/// this keeps one as well, and when its turn comes again, it is written to in place if all the others are gone. If not, it
/// becomes an array with memory of its own, as any does that is changed while it is shared. So nothing is ever overwritten
/// that somebody may still read, and what is held for long costs an allocation and no more.
///
/// Confined to one thread; what it hands out may go to any. ThreadSanitizer sees no reference counts of Swift's arrays, and
/// takes the second writing for a race with who read the first.
public final class PayloadMemory {
    /// What is larger than the largest of these, in bytes, is rare.
    private static let sizes = [256, 512, 1024, 2048, 4096, 8192]

    private var shelves: [PayloadShelf]

    /// - Parameter shelfBytes: how much it keeps at most of each of six sizes, in bytes, once so much has been in use at a
    ///   time. What is beyond that is new memory each time.
    public init(shelfBytes: Int = 1 << 20) {
        shelves = Self.sizes.map { PayloadShelf(size: $0, most: max(1, shelfBytes / $0)) }
    }

    /// What `write` has appended to the empty array it is given.
    ///
    /// - Parameter count: how much that is at most; it may be more, which costs an allocation.
    /// - Throws: what `write` throws.
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
