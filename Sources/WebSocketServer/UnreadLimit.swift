import Synchronization

/// The most unread bytes of all clients of a listener together. Each shard has an equal share, so that shards need no
/// synchronization. Any thread.
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
