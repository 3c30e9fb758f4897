import CallVocabulary
import EventLoop
import Logging
import Synchronization

/// Hands the core's messages to the shards. Any thread.
///
/// Clients of a shard that does not keep up are sent away and come back with a resume, so that nothing is lost.
final class ShardOutlets: Sendable {
    private let mailboxes: [Mailbox<ShardMessage>]
    private let log: Logger
    /// By shard: connections whose ends wait in its full mailbox, one for each, however much is sent to them meanwhile.
    private let sentAway: Mutex<[Set<UInt64>]>

    /// - Parameter mailboxes: of the shard with this index.
    init(_ mailboxes: [Mailbox<ShardMessage>], log: Logger) {
        self.mailboxes = mailboxes
        self.log = log
        sentAway = Mutex([Set<UInt64>](repeating: [], count: mailboxes.count))
    }

    var count: Int { mailboxes.count }

    func deliver(_ batch: [ShardMessage], to shard: Int) {
        if mailboxes[shard].post(contentsOf: batch) {
            // What is sent from now on comes behind those ends.
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
        // A shard that has stopped has no clients to lose.
        guard isThere else { return }
        log.error(
            "a shard does not keep up; its clients are asked to reconnect",
            metadata: ["shard": .stringConvertible(shard), "connections": .stringConvertible(new.count)])
    }
}
