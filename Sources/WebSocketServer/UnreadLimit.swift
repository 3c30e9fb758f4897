import Synchronization

/// The most bytes that wait for the clients of one listener to read, all together. Divided among the shards, so that
/// none waits for another. Any thread.
final class UnreadLimit: Sendable {
    private let shards: Int
    private let bytes: Atomic<Int>

    init(bytes: Int, shards: Int) {
        self.shards = shards
        self.bytes = Atomic(bytes)
    }

    var bytesPerShard: Int { bytes.load(ordering: .relaxed) / shards }

    func set(_ bytes: Int) { self.bytes.store(bytes, ordering: .relaxed) }
}
