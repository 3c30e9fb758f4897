import CallVocabulary
import EventLoop
import Logging
import Synchronization

/// Delivers the core's messages to the shards. May be used from any thread.
///
/// When a shard does not keep up, its clients are disconnected and resume, so that nothing is lost.
final class ShardOutlets: Sendable {
    private let mailboxes: [Mailbox<ShardMessage>]
    private let log: Logger
    /// For each shard, the connections whose disconnects wait in its full mailbox: one each, however many messages
    /// follow.
    private let sentAway: Mutex<[Set<UInt64>]>

    /// - Parameter mailboxes: by shard index.
    init(_ mailboxes: [Mailbox<ShardMessage>], log: Logger) {
        self.mailboxes = mailboxes
        self.log = log
        sentAway = Mutex([Set<UInt64>](repeating: [], count: mailboxes.count))
    }

    var count: Int { mailboxes.count }

    func deliver(_ batch: [ShardMessage], to shard: Int) {
        if mailboxes[shard].post(contentsOf: batch) {
            // Later messages are queued after those disconnects.
            sentAway.withLock { sentAway in
                if !sentAway[shard].isEmpty { sentAway[shard] = [] }
            }
            return
        }
        let new = sentAway.withLock { sentAway in
            batch.compactMap(\.connection).filter { sentAway[shard].insert($0).inserted }
        }
        var isThere = false
        for connection in new { isThere = mailboxes[shard].postAlways(.disconnect(connection, .overloaded)) }
        // A stopped shard has no clients.
        guard isThere else { return }
        log.error(
            "a shard fell behind; its clients are asked to reconnect",
            metadata: ["shard": .stringConvertible(shard), "connections": .stringConvertible(new.count)])
    }
}
