import AdminKit
import CallCore
import CallStore
import CallVocabulary
import Dispatch
import EventLoop
import Logging
import StoreInterface
import Synchronization
import TestCleanup
import Testing

@testable import AdminServer
@testable import CallServer

/// A server's core, store and push client on their own threads, with the test in place of the sockets.
final class ServerHarness: Sendable {
    let parts: ServerParts
    let reader: StoreReader
    let adminSocket: SocketAddress
    private let admin: AdminService
    let folder: DataFolder
    private let shard: EventLoop
    private let sent: Sent
    private let isStopped = Atomic(false)

    private final class Sent: Sendable {
        let messages = Mutex<[(connection: UInt64, message: ServerMessage)]>([])
    }

    /// - Parameter folder: nil for a new one.
    init(_ folder: DataFolder? = nil, change: (inout ServerConfiguration) -> Void = { _ in }) async throws {
        let folder = try folder ?? .temporary()
        self.folder = folder
        var configuration = ServerConfiguration(address: .anyPort, data: folder, shards: 1)
        change(&configuration)
        let log = Logger.none
        let clock = ServerClock()
        let tokens = try await TokenAuthority(folder: folder, clock: clock)
        let store = try await ServerStore.open(configuration, log: log)
        reader = try StoreReader.open(folder: folder.path)
        parts = try await ServerParts.start(configuration, clock, tokens, store, log)
        shard = try .started("shard-test")
        let sent = Sent()
        self.sent = sent
        let mailbox = Mailbox<ShardMessage>(loop: shard, capacity: 1 << 16) { messages in
            for case .send(let connection, let message) in messages {
                sent.messages.withLock { $0.append((connection, message)) }
            }
        }
        adminSocket = try folder.adminSocket()
        let reads = AdminReads(
            queries: store.adminQueries, settle: { store.recordLog.settle($0) }, wallTime: { clock.time() }, log: log)
        var environment = AdminShard.Environment(
            core: parts.core.inbox, reads: reads, hooks: configuration.adminHooks, figures: .plain(parts.core),
            now: { clock.now() }, log: log)
        environment.feedCapacity = configuration.monitorCapacity
        environment.webhooks = parts.webhooks
        admin = try await AdminService.start(at: adminSocket, environment: environment)
        admin.begin(with: store.recovered)
        let outputs = CoreOutputs(
            shards: ShardOutlets([mailbox], log: log), push: parts.push, webhooks: parts.webhooks,
            core: parts.core.inbox,
            lookUps: parts.lookUps, history: parts.history,
            authorization: parts.authorization, admin: admin.mailbox, feed: admin.feed,
            settle: { [store] in store.recordLog.settle($0) })
        await parts.core.run(configuration, parts.clock, store.recovered, store.recordLog, outputs, log)
        // The store is empty, so the core never looks up a call in it.
        parts.core.inbox.postAlways(.store(.callsListed(CallIDFilter(expecting: 0))))
        atEnd { await self.stop() }
    }

    func client() throws -> AdminClient { try .connected(to: adminSocket) }

    func messages(to connection: UInt64) async -> [ServerMessage] {
        await shard.run {}
        return sent.messages.withLock { messages in messages.filter { $0.connection == connection }.map(\.message) }
    }

    /// Stops the parts as a server does, and the test's substitutes for sockets.
    func stop() async {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        await admin.stop(grace: .milliseconds(200))
        await parts.stop()
        await shard.stopAndWait()
    }

    // MARK: Input

    func open(_ user: Handle, on connection: UInt64, push: [PushToken]? = nil) {
        let device = DeviceDescription(id: DeviceID(high: 1, low: connection), platform: .ios)
        #expect(
            parts.core.inbox.post(
                .client(
                    .opened(
                        ConnectionID(shard: 0, serial: connection), .number(0),
                        SessionOpen(token: "", device: device, push: push), SessionGrant(user: user)))))
    }

    func request(_ request: ClientRequest, _ number: Int64 = 1, on connection: UInt64) {
        #expect(
            parts.core.inbox.post(
                .client(.requested(ConnectionID(shard: 0, serial: connection), .number(number), request))))
    }

    /// Passes records to the live calls as if they were committed.
    func feed(_ records: [StoreRecord]) { admin.feed.post(MonitorFeed.Batch(records: records, sessions: [])) }

    // MARK: Waiting without sleeping

    /// Returns once all earlier input is decided, durable and sent.
    func settle() async {
        await parts.core.drain()
        while let snapshot = await parts.core.snapshot(), snapshot.census.lookUps > 0 { await Task.yield() }
        await parts.store.recordLog.flush()
        // The store's completions return to the core, which may have been suspended.
        for _ in 0..<3 {
            await parts.core.drain()
            await parts.store.recordLog.flush()
        }
    }

    /// Blocks the store's thread in a completion: later batches become durable only after the signal.
    func holdStore() async -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        // Earlier batches, not yet committed, would be in the same transaction.
        await withCheckedContinuation { isHeld in
            let isTaken = parts.store.recordLog.commit(batch: []) { _ in
                isHeld.resume()
                gate.wait()
            }
            #expect(isTaken)
        }
        return gate
    }
}
