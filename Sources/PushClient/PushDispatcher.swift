import CallVocabulary
import EventLoop
import Logging
import PushCore

/// Takes the call core's orders, has their wake tokens made, and hands each push to the pool of its environment.
/// Lives on the push loop.
final class PushDispatcher {
    enum Message: Sendable {
        case queue(PushOrder)
        case transmit(PushID)
        case drop(PushID)
    }

    /// Wake tokens that are made in one go, off the loop.
    private static let preparationBatch = 256

    private let configuration: PushService.Configuration
    private let loop: EventLoop
    private let preparation: PushPreparation
    private let log: Logger
    private let publish: ([PushEvent], PushStatistics) -> Void
    private var pools: [PushPool] = []

    /// Orders whose wake token is still to be made, in order. Those dropped meanwhile are not in `preparing` any more.
    private var unprepared: [PushOrder] = []
    private var preparing: Set<PushID> = []
    private var isPreparing = false
    private var refused: UInt64 = 0

    private var events: [PushEvent] = []
    private var isPublishing = false
    private var isStopping = false
    private var onDrained: (() -> Void)?

    /// - Parameter publish: given the events in order, and the statistics as they are then.
    init(
        configuration: PushService.Configuration, loop: EventLoop,
        mintWakeToken: @escaping @Sendable (PushOrder) async throws -> String, log: Logger,
        publish: @escaping ([PushEvent], PushStatistics) -> Void
    ) {
        self.configuration = configuration
        self.loop = loop
        preparation = PushPreparation(mintWakeToken: mintWakeToken)
        self.log = log
        self.publish = publish
    }

    func add(_ parts: PushService.PoolParts, now: @escaping @Sendable () -> Instant) {
        pools.append(
            PushPool(
                endpoint: parts.endpoint, signer: parts.signer, tls: parts.tls, loop: loop, now: now, log: log
            ) { [weak self] event in
                self?.emit(event)
            })
    }

    func receive(_ messages: inout [Message]) {
        for message in messages { receive(message) }
    }

    func receive(_ message: Message) {
        guard !isStopping else { return receiveLate(message) }
        switch message {
        case .queue(let order): queue(order)
        case .transmit(let push): pool(of: push)?.transmit(push)
        case .drop(let push):
            if preparing.remove(push) == nil { pool(of: push)?.drop(push) }
        }
        schedulePublishing()
    }

    /// What was queued stays on disk as intended, and is taken up by the next start; what the core has just committed as
    /// sent is given back for that.
    private func receiveLate(_ message: Message) {
        guard case .transmit(let push) = message, let pool = pool(of: push), pool.isAnnounced(push) else { return }
        pool.drop(push)
        emit(.outcome(push, .returned))
    }

    /// An order there was no room for in the mailbox.
    func refuse(_ push: PushID) {
        // It waits on disk for the next start.
        guard !isStopping else { return }
        finish(push, .unsent(reason: "push queue full"))
    }

    // MARK: Preparing

    private func queue(_ order: PushOrder) {
        guard !preparing.contains(order.id), pool(of: order.id) == nil else { return }
        guard order.token.provider == .apns, order.token.kind == .voip else {
            let kind = "\(order.token.provider.rawValue) \(order.token.kind.rawValue)"
            return finish(order.id, .unsent(reason: "no way to send \(kind) pushes"))
        }
        guard let pool = pool(for: order) else {
            let environment = order.token.environment.rawValue
            let reason = "no APNs credentials for \(environment): \(configuration.credentialsHint)"
            return finish(order.id, .unsent(reason: reason))
        }
        guard preparing.count + pool.queueDepth < pool.endpoint.policy.queueCapacity else {
            return finish(order.id, .unsent(reason: "push queue full"))
        }
        preparing.insert(order.id)
        unprepared.append(order)
        prepareNext()
    }

    /// One batch at a time keeps the order, and costs one task for many pushes.
    private func prepareNext() {
        guard !isPreparing, !unprepared.isEmpty else { return }
        isPreparing = true
        let batch = Array(unprepared.prefix(Self.preparationBatch))
        unprepared.removeFirst(batch.count)
        let dispatcher = LoopBound(self, on: loop)
        let preparation = preparation
        let loop = loop
        Task {
            let results = await preparation.prepare(batch)
            loop.execute { dispatcher.value.prepared(batch, results) }
        }
    }

    private func prepared(_ orders: [PushOrder], _ results: [PushPreparation.Result]) {
        isPreparing = false
        guard !isStopping else { return }
        for (order, result) in zip(orders, results) where preparing.remove(order.id) != nil {
            switch result {
            case .ready(let request):
                pool(for: order)?.queue(request, tokenRegisteredAt: order.tokenRegisteredAt)
            case .impossible(let reason): finish(order.id, .unsent(reason: reason))
            }
        }
        prepareNext()
        schedulePublishing()
    }

    private func pool(for order: PushOrder) -> PushPool? {
        pools.first { $0.endpoint.environment == order.token.environment }
    }

    private func pool(of push: PushID) -> PushPool? {
        pools.first { $0.contains(push) }
    }

    // MARK: Events

    private func finish(_ push: PushID, _ outcome: PushOutcome) {
        refused += 1
        emit(.outcome(push, outcome))
    }

    private func emit(_ event: PushEvent) {
        if isStopping, case .ready = event { return }
        events.append(event)
        schedulePublishing()
        if isStopping { reportIfDrained() }
    }

    /// Once a turn of the loop, however many events there are.
    private func schedulePublishing() {
        guard !isPublishing else { return }
        isPublishing = true
        let dispatcher = LoopBound(self, on: loop)
        loop.execute { dispatcher.value.publishNow() }
    }

    private func publishNow() {
        isPublishing = false
        let batch = events
        events.removeAll(keepingCapacity: true)
        publish(batch, statistics)
    }

    private var statistics: PushStatistics {
        var statistics = PushStatistics()
        statistics.pools = pools.map(\.statistics)
        statistics.preparing = preparing.count
        statistics.refused = refused
        return statistics
    }

    // MARK: The end

    /// Takes nothing more and announces nothing more; `onDrained` is called once nothing is on the wire.
    func stop(onDrained: @escaping () -> Void) {
        isStopping = true
        self.onDrained = onDrained
        reportIfDrained()
    }

    private func reportIfDrained() {
        guard pools.allSatisfy({ $0.streamsInFlight == 0 }) else { return }
        onDrained?()
        onDrained = nil
    }

    /// Closes what is open; the outcomes this leads to are published before it returns.
    func close() {
        onDrained = nil
        for pool in pools { pool.close() }
        publishNow()
        pools = []
    }
}

@available(*, unavailable)
extension PushDispatcher: Sendable {}
