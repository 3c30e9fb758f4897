import AdminServer
import CallCore
import CallVocabulary
import EventLoop
import PushClient
import WebhookClient

/// Releases the core's outputs to the shards and the push client, once their rows are on disk.
///
/// Called from the core's thread (nothing to commit) and from the store's (after a commit), never from both at once:
/// the core releases outputs itself only when no commit is pending.
struct CoreOutputs: Sendable {
    let shards: ShardOutlets
    let push: PushService
    let webhooks: WebhookService
    let core: Mailbox<CoreInput>
    let lookUps: LookUps
    let history: HistoryReader
    let authorization: AuthorizationHook
    let admin: Mailbox<AdminMessage>
    let feed: MonitorFeed
    /// Makes durable records visible to ``lookUps``, and calls back on the store's thread.
    let settle: @Sendable (_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void) -> Void

    /// Queues new pushes, which need not wait for the commit. On the core's thread.
    func queueNewPushes(of effects: HeldEffects) {
        for intent in effects.newPushes { push.queue(intent) }
    }

    /// Sends pushes that are on disk as sent, and asks the store, without waiting for a commit. On the core's thread.
    func performAtOnce(_ effects: HeldEffects) {
        for id in effects.transmissions { push.transmit(id) }
        for (number, wanted) in effects.lookUps { lookUps.find(number, wanted) }
    }

    /// Releases to phones first, then to the monitor, then to administrators, so that the monitor has the changes that
    /// administrators are told of.
    /// - Parameters:
    ///   - rows: the rows committed with the effects.
    ///   - hasNewPushes: false if ``queueNewPushes(of:)`` was called for them.
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
            // Posted unconditionally: there is one for each push.
            case .confirmPush(let id): core.postAlways(.push(.committed(id)))
            // ``performAtOnce(_:)`` has sent it.
            case .transmitPush: break
            case .dropPush(let id): push.drop(id)
            // ``performAtOnce(_:)`` has asked it.
            case .lookUp: break
            // A store that is being closed settles no more.
            case .settle(let generation):
                settle { [core] isSettled in if isSettled { core.postAlways(.store(.settled(generation))) } }
            case .readHistory(let connection, let request, let query): history.read(query, connection, request)
            case .authorize(let question): authorization.ask(.invite(question))
            case .authorizeSession(let connection, let question): authorization.ask(.session(connection, question))
            case .observe(let change): sessions.append(change)
            case .answer(let request, let answer): answers.append(.answered(request, answer))
            }
        }
        for (shard, batch) in batches.enumerated() where !batch.isEmpty {
            shards.deliver(batch, to: shard)
        }
        let events = rows.count { if case .event = $0 { true } else { false } }
        if events > 0 { webhooks.committed(events) }
        feed.post(MonitorFeed.Batch(records: rows, sessions: sessions))
        for answer in answers { admin.postAlways(answer) }
    }

    /// Sends refusals at once, without waiting for the store. On the core's thread.
    func refuse(_ refusals: [RequestRefusal]) {
        for refusal in refusals {
            switch refusal {
            case .client(let connection, let request, let error):
                shards.deliver([.send(connection.serial, .error(request, error))], to: connection.shard)
            case .administrator(let request, let refusal): admin.postAlways(.answered(request, .failure(refusal)))
            }
        }
    }
}
