import CallVocabulary
import EventLoop
import Logging
import PushCore

/// Takes the call core's orders, has their wake tokens made, and hands each push to the pool of its credential.
/// Lives on the push loop.
final class PushDispatcher {
    enum Message: Sendable {
        case queue(PushPreparation.Job)
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
    private var pools: PushPools
    private var accessTokens: [AccessTokenSource] = []
    private var mapper: FCMTokenMapper?

    /// Alerts whose APNs token is being mapped, with the pools they may go to: through FCM, or else to APNs itself.
    private var mapping: Set<PushID> = []
    /// The APNs tokens of alerts that are on their way through FCM.
    private var mapped: [PushID: PushToken] = [:]
    /// Orders whose wake token is still to be made, in order. Those dropped meanwhile are not in `preparing` any more.
    private var unprepared: [PushPreparation.Job] = []
    /// The pool each of them is for. Each pool has its own bound, so that one provider's trouble is not the other's.
    private var preparing: [PushID: PushPool] = [:]
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
        preparation = PushPreparation(texts: configuration.texts, mintWakeToken: mintWakeToken)
        pools = PushPools(hint: configuration.credentialsHint)
        self.log = log
        self.publish = publish
    }

    func add(_ route: PushRoute, now: @escaping @Sendable () -> Instant) {
        var source: AccessTokenSource?
        if case .account(let account) = route.credential {
            let tokens = AccessTokenSource(account: account, tls: route.tls, loop: loop, now: now, log: log)
            accessTokens.append(tokens)
            source = tokens
            if configuration.mapsIOSAlerts, mapper == nil {
                mapper = FCMTokenMapper(
                    registrar: FCMRegistrar(route: route, tokens: tokens, loop: loop), now: now
                ) { [log] words in
                    log.warning("an APNs token has no FCM token: \(words); its alert goes to APNs itself")
                }
            }
        }
        let pool = PushPool(endpoint: route, accessTokens: source, loop: loop, now: now, log: log) {
            [weak self] event in
            self?.emit(event)
        }
        pools.add(pool)
    }

    func receive(_ messages: inout [Message]) {
        for message in messages { receive(message) }
    }

    func receive(_ message: Message) {
        guard !isStopping else { return receiveLate(message) }
        switch message {
        case .queue(let job): queue(job)
        case .transmit(let push): pools.holding(push)?.transmit(push)
        case .drop(let push):
            guard mapping.remove(push) == nil else { break }
            mapped[push] = nil
            if let pool = preparing.removeValue(forKey: push) {
                pool.preparing -= 1
            } else {
                pools.holding(push)?.drop(push)
            }
        }
        schedulePublishing()
    }

    /// What was queued stays on disk as intended, and is taken up by the next start; what the core has just committed as
    /// sent is given back for that.
    private func receiveLate(_ message: Message) {
        guard case .transmit(let push) = message, let pool = pools.holding(push), pool.isAnnounced(push) else { return }
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

    private func queue(_ job: PushPreparation.Job) {
        let order = job.order
        guard preparing[order.id] == nil, !mapping.contains(order.id), pools.holding(order.id) == nil else { return }
        guard let mapper, order.purpose != .call, order.delivery == .apnsAlert, let pool = pools.forMappedAlerts else {
            return prepare(job)
        }
        mapping.insert(order.id)
        mapper.map(order.token) { [weak self] token in
            guard let self, !isStopping, mapping.remove(order.id) != nil else { return }
            let mapped = token.map { PushPreparation.Mapping(token: $0, project: pool.endpoint.credentialName) }
            prepare(PushPreparation.Job(order: order, mapped: mapped))
            schedulePublishing()
        }
    }

    private func prepare(_ job: PushPreparation.Job) {
        let id = job.order.id
        let pool: PushPool
        do {
            pool =
                if job.mapped != nil, let fcm = pools.forMappedAlerts { fcm } else { try pools.pool(for: job.order) }
        } catch {
            return finish(id, .unsent(reason: error.reason))
        }
        // Of those that are prepared the machine decides which one has to go.
        guard pool.preparing < pool.endpoint.policy.queueCapacity else {
            return finish(id, .unsent(reason: "push queue full"))
        }
        pool.preparing += 1
        preparing[id] = pool
        if job.mapped != nil { mapped[id] = job.order.token }
        unprepared.append(job)
        prepareNext()
    }

    /// One batch at a time keeps the order, and costs one task for many pushes.
    private func prepareNext() {
        guard !isPreparing, !unprepared.isEmpty else { return }
        isPreparing = true
        let batch = nextBatch()
        let dispatcher = LoopBound(self, on: loop)
        let preparation = preparation
        let loop = loop
        Task {
            let results = await preparation.prepare(batch)
            loop.execute { dispatcher.value.prepared(batch, results) }
        }
    }

    private func nextBatch() -> [PushPreparation.Job] {
        guard unprepared.count > Self.preparationBatch else {
            defer { unprepared = [] }
            return unprepared
        }
        defer { unprepared.removeFirst(Self.preparationBatch) }
        return Array(unprepared.prefix(Self.preparationBatch))
    }

    private func prepared(_ jobs: [PushPreparation.Job], _ results: [PushPreparation.Result]) {
        isPreparing = false
        guard !isStopping else { return }
        for (job, result) in zip(jobs, results) {
            guard let pool = preparing.removeValue(forKey: job.order.id) else { continue }
            pool.preparing -= 1
            switch result {
            case .ready(let prepared): pool.queue(prepared)
            case .impossible(let reason): finish(job.order.id, .unsent(reason: reason))
            }
        }
        prepareNext()
        schedulePublishing()
    }

    // MARK: Events

    private func finish(_ push: PushID, _ outcome: PushOutcome) {
        refused += 1
        emit(.outcome(push, outcome))
    }

    private func emit(_ event: PushEvent) {
        if isStopping, case .ready = event { return }
        events.append(mapped.isEmpty ? event : unmapped(event))
        schedulePublishing()
        if isStopping { reportIfDrained() }
    }

    /// What FCM says of a mapped token says nothing of the device's own: that is mapped anew.
    private func unmapped(_ event: PushEvent) -> PushEvent {
        guard case .outcome(let push, let outcome) = event, outcome != .returned,
            let token = mapped.removeValue(forKey: push), case .rejected(let reason, true) = outcome
        else { return event }
        mapper?.forget(token)
        return .outcome(push, .rejected(reason: reason, isTokenDead: false))
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
        statistics.pools = pools.all.map(\.statistics)
        statistics.preparing = preparing.count
        statistics.mapping = mapping.count
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
        guard pools.all.allSatisfy({ $0.streamsInFlight == 0 }) else { return }
        onDrained?()
        onDrained = nil
    }

    /// Closes what is open; the outcomes this leads to are published before it returns.
    func close() {
        onDrained = nil
        mapper?.close()
        for pool in pools.all { pool.close() }
        for tokens in accessTokens { tokens.close() }
        publishNow()
        pools.removeAll()
        mapper = nil
    }
}

@available(*, unavailable)
extension PushDispatcher: Sendable {}
