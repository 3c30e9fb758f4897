import CallCore
import CallVocabulary
import EventLoop
import Logging
import PushClient

/// Carries the core's outputs to the shards and the push client once their rows are on disk.
///
/// Called from the core's thread (nothing to commit) and from the store's (after a commit), never from both at once:
/// the core releases by itself only when no commit is pending.
struct CoreOutputs: Sendable {
    /// Of the shard with this index.
    let shards: [Mailbox<ShardMessage>]
    let push: PushService
    let storedCalls: StoredCalls
    let admin: Mailbox<AdminMessage>
    let feed: MonitorFeed
    let log: Logger

    /// Hands over what need not wait for the commit. On the core's thread.
    func queueNewPushes(of effects: [CoreEffect]) {
        for case .queueNewPush(let order) in effects { push.queue(order) }
    }

    /// Phones come first, then the live picture, then administrators: what they are told has been done is in the picture.
    /// - Parameters:
    ///   - rows: what was committed with the effects.
    ///   - hasNewPushes: false where ``queueNewPushes(of:)`` had them.
    func release(_ effects: [CoreEffect], committed rows: [StoreRecord] = [], hasNewPushes: Bool = true) {
        guard !effects.isEmpty || !rows.isEmpty else { return }
        var batches = [[ShardMessage]](repeating: [], count: shards.count)
        var sessions: [SessionChange] = []
        var answers: [AdminMessage] = []
        for effect in effects {
            switch effect {
            case .persist: preconditionFailure("rows go to the store")
            case .send(let connection, let message):
                batches[connection.shard].append(.send(connection.serial, message))
            case .disconnect(let connection, let code):
                batches[connection.shard].append(.disconnect(connection.serial, code))
            case .queuePush(let order): push.queue(order)
            case .queueNewPush(let order): if hasNewPushes { push.queue(order) }
            case .transmitPush(let id): push.transmit(id)
            case .dropPush(let id): push.drop(id)
            case .findCall(let id): storedCalls.find(id)
            case .observe(let change): sessions.append(change)
            case .answer(let request, let answer): answers.append(.answered(request, answer))
            }
        }
        for (shard, batch) in batches.enumerated() where !batch.isEmpty {
            if !shards[shard].post(contentsOf: batch) { overflow(shard, batch) }
        }
        feed.post(MonitorFeed.Batch(records: rows, sessions: sessions))
        for answer in answers { admin.postAlways(answer) }
    }

    /// A shard that does not keep up: its clients are sent away and come back with a resume, so that nothing is lost.
    private func overflow(_ shard: Int, _ batch: [ShardMessage]) {
        var isThere = false
        for message in batch {
            switch message {
            case .send(let serial, _), .disconnect(let serial, _):
                isThere = shards[shard].postAlways(.disconnect(serial, .overloaded))
            case .limited: break
            }
        }
        // A shard that has stopped has no clients to lose.
        guard isThere else { return }
        log.error("a shard does not keep up; its clients are asked to reconnect", metadata: ["shard": "\(shard)"])
    }
}
