import CallVocabulary
import DequeModule
import EventLoop
import Logging
import PushCore
import PushVocabulary

/// Takes the call core's orders, mints their wake tokens, and passes each push to the pool of its credential. Confined
/// to the push loop.
final class PushDispatcher {
    enum Message: Sendable {
        case queue(PushPreparation.Job)
        case transmit(PushID)
        case drop(PushID)
    }

    private struct Unprepared {
        let job: PushPreparation.Job
        /// See ``PushPool/isUnproven``.
        let isUnproven: Bool
    }

    /// The most pushes prepared in one turn of the loop; other events wait for no more of them.
    private static let preparationsInATurn = 32

    private var mapsIOSAlerts: Bool
    private let mintWakeToken: @Sendable (PushIntent) throws -> String
    private let now: @Sendable () -> Instant
    private let wall: @Sendable (Instant) -> Instant
    private let loop: EventLoop
    private var preparation: PushPreparation
    private let log: Logger
    private enum Line { case unmapped }
    private var lines = LineInterval<Line>()
    private let maySend: @Sendable () -> Bool
    private let publish: ([PushEvent], PushStatistics) -> Void
    private var pools: PushPools
    private var mapper: FCMTokenMapper?
    /// The pool of the mapper's project.
    private var mapperPool: PushPool?

    /// Alerts whose APNs token is being mapped; then they go through FCM, or to APNs directly.
    private var mapping: Set<PushID> = []
    /// The APNs tokens of alerts in flight through FCM.
    private var mapped: [PushID: PushToken] = [:]
    /// Orders without a wake token, in order. Dropped orders are no longer in `preparing`.
    private var unprepared: Deque<Unprepared> = []
    /// How many of these orders, by user, go to push services that devices may have invented.
    private var unprovenOrders: [Handle: Int] = [:]
    /// The pool of each of these orders. Each pool has its own limit, so a problem of one provider does not affect the
    /// other.
    private var preparing: [PushID: PushPool] = [:]
    private var isPreparing = false
    /// The number of reloads.
    private var reloads = 0
    private var refused: UInt64 = 0

    private var events: [PushEvent] = []
    private var isPublishing = false
    private var isStopping = false
    private var onDrained: (() -> Void)?

    /// - Parameter publish: called with the events in order, and the present statistics.
    init(
        configuration: PushService.Configuration, loop: EventLoop,
        mintWakeToken: @escaping @Sendable (PushIntent) throws -> String, now: @escaping @Sendable () -> Instant,
        wall: @escaping @Sendable (Instant) -> Instant = { $0 }, log: Logger,
        maySend: @escaping @Sendable () -> Bool = { true }, publish: @escaping ([PushEvent], PushStatistics) -> Void
    ) {
        mapsIOSAlerts = configuration.mapsIOSAlerts
        self.mintWakeToken = mintWakeToken
        self.now = now
        self.wall = wall
        self.loop = loop
        preparation = PushPreparation(
            texts: configuration.texts, profiles: configuration.profiles, mintWakeToken: mintWakeToken, wall: wall)
        self.log = log
        self.maySend = maySend
        self.publish = publish
        pools = PushPools(hint: configuration.credentialsHint)
    }

    /// Takes the configuration of Web Push, whose pools are made when they are needed.
    func add(_ webPush: WebPushRoutes?) {
        guard webPush != nil else { return }
        pools.webPush = webPush
        schedulePublishing()
    }

    func add(_ route: PushRoute) {
        let source = accessTokens(for: route)
        let pool = makePool(route, accessTokens: source)
        pools.add(pool)
        if let source { map(through: pool, with: source) }
        // Publishes the providers and the warnings about their credentials before the first push.
        schedulePublishing()
    }

    private func makePool(_ route: PushRoute, accessTokens: AccessTokenSource?) -> PushPool {
        PushPool(endpoint: route, accessTokens: accessTokens, loop: loop, now: now, wall: wall, log: log) {
            [weak self] event in
            self?.emit(event)
        }
    }

    private func accessTokens(for route: PushRoute) -> AccessTokenSource? {
        guard case .account(let account) = route.credential else { return nil }
        return AccessTokenSource(account: account, tls: route.tls, loop: loop, now: now, wall: wall, log: log)
    }

    /// Creates the mapper, if it is configured and does not exist yet.
    private func map(through pool: PushPool, with tokens: AccessTokenSource) {
        guard mapsIOSAlerts, mapper == nil else { return }
        mapperPool = pool
        mapper = FCMTokenMapper(registrar: FCMRegistrar(route: pool.endpoint, tokens: tokens, loop: loop), now: now) {
            [weak self] words in
            guard let self, lines.allows(.unmapped, at: now()) else { return }
            log.warning("an APNs token has no FCM token: \(words); its alert goes to APNs itself")
        }
    }

    func receive(_ messages: inout [Message]) {
        for message in messages { receive(message) }
    }

    func receive(_ message: Message) {
        guard !isStopping else { return receiveLate(message) }
        switch message {
        case .queue(let job): queue(job)
        case .transmit(let push):
            // A push that was dropped and queued again meanwhile returns, and is announced in its turn.
            guard !isBeingPrepared(push) else { return emit(.outcome(push, .returned)) }
            let pool = pools.holding(push)
            if maySend() { pool?.transmit(push) } else { pool?.postpone(push) }
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

    /// Queued pushes remain intended in the store, and the next start takes them up. Pushes just committed as sent are
    /// returned.
    private func receiveLate(_ message: Message) {
        guard case .transmit(let push) = message else { return }
        if !isBeingPrepared(push) {
            guard let pool = pools.holding(push), pool.isUnsent(push) else { return }
            pool.drop(push)
        }
        emit(.outcome(push, .returned))
    }

    private func isBeingPrepared(_ push: PushID) -> Bool { preparing[push] != nil || mapping.contains(push) }

    /// Refuses an order that found the mailbox full.
    func refuse(_ push: PushID) {
        // The intent stays in the store for the next start.
        guard !isStopping else { return }
        finish(push, .unsent(reason: "push queue full"))
    }

    func clockChanged(isSet: Bool) {
        for pool in pools.all { pool.clockChanged(isSet: isSet) }
        schedulePublishing()
    }

    // MARK: Preparing

    private func queue(_ job: PushPreparation.Job) {
        let intent = job.intent
        guard !isBeingPrepared(intent.id), pools.holding(intent.id) == nil else { return }
        guard let mapper, intent.purpose != .call, intent.delivery == .apnsAlert, let pool = pools.forMappedAlerts
        else {
            return prepare(job)
        }
        mapping.insert(intent.id)
        mapper.map(intent.token) { [weak self] token in
            guard let self, !isStopping, mapping.remove(intent.id) != nil else { return }
            let mapped = token.map { PushPreparation.Mapping(token: $0, project: pool.endpoint.credentialName) }
            prepare(PushPreparation.Job(intent: intent, mapped: mapped))
            schedulePublishing()
        }
    }

    private func prepare(_ job: PushPreparation.Job) {
        let id = job.intent.id
        let pool: PushPool
        do {
            pool = try destination(of: job)
        } catch {
            return finish(id, .unsent(reason: error.reason))
        }
        guard hasRoom(pool, for: job.intent.user) else { return finish(id, .unsent(reason: "push queue full")) }
        pool.preparing += 1
        preparing[id] = pool
        if job.mapped != nil { mapped[id] = job.intent.token }
        unprepared.append(Unprepared(job: job, isUnproven: pool.isUnproven))
        if pool.isUnproven { unprovenOrders[job.intent.user, default: 0] += 1 }
        prepareSoon()
    }

    private func destination(of job: PushPreparation.Job) throws(PushPools.NoWay) -> PushPool {
        if job.mapped != nil, let fcm = pools.forMappedAlerts { return fcm }
        let pool =
            switch try pools.destination(of: job.intent) {
            case .pool(let pool): pool
            case .service(let route): try poolOfService(route, for: job.intent.user)
            }
        pools.use(pool)
        return pool
    }

    private func poolOfService(_ route: PushRoute, for user: Handle) throws(PushPools.NoWay) -> PushPool {
        try pools.makeRoom(for: route, of: user)
        let pool = makePool(route, accessTokens: nil)
        pool.opener = user
        pools.add(pool)
        return pool
    }

    /// The machine decides which of the prepared pushes to drop. Push services share one limit, as devices choose how
    /// many there are, and those that devices may have invented have a small part of it. A user may have as much of this
    /// part as is free for the others.
    private func hasRoom(_ pool: PushPool, for user: Handle) -> Bool {
        let capacity = pool.endpoint.policy.queueCapacity
        guard pool.preparing < capacity else { return false }
        guard pool.endpoint.provider == .webpush else { return true }
        if pool.isUnproven {
            let unproven = pools.unprovenPools
            let free = capacity / WebPushEndpoint.unprovenShare - unproven.reduce(0) { $0 + $1.load }
            let own = unproven.reduce(unprovenOrders[user, default: 0]) { $0 + $1.load(of: user) }
            guard own < free else { return false }
        }
        return pools.webPushLoad < capacity
    }

    /// Prepares once all orders of the turn have arrived; the rest of a large batch yields to other events.
    private func prepareSoon() {
        guard !isPreparing else { return }
        isPreparing = true
        let dispatcher = LoopBound(self, on: loop)
        loop.execute { dispatcher.value.prepareSome() }
    }

    private func prepareSome() {
        guard !isStopping else { return }
        for _ in 0..<min(Self.preparationsInATurn, unprepared.count) {
            let next = unprepared.removeFirst()
            if next.isUnproven { takeUnproven(next.job.intent.user) }
            finishPreparing(next.job)
        }
        isPreparing = !unprepared.isEmpty
        if isPreparing { loop.inNextTurn { [weak self] in self?.prepareSome() } }
        schedulePublishing()
    }

    private func takeUnproven(_ user: Handle) {
        let left = unprovenOrders[user, default: 0] - 1
        unprovenOrders[user] = left > 0 ? left : nil
    }

    private func finishPreparing(_ job: PushPreparation.Job) {
        guard let pool = preparing.removeValue(forKey: job.intent.id) else { return }
        pool.preparing -= 1
        switch preparation.prepare(job) {
        case .ready(let prepared):
            guard reloads == 0 || isServed(prepared, by: pool) else { return sendElsewhere(job, prepared) }
            pool.queue(prepared)
        case .impossible(let reason): finish(job.intent.id, .unsent(reason: reason))
        }
    }

    // MARK: Reloading

    /// Applies another configuration. Answers to sent pushes are awaited on their connections. Waiting pushes use the
    /// new configuration, or end if none fits. An unchanged route is untouched: providers object to needless new tokens
    /// and connections.
    func reload(_ configuration: PushService.Configuration, _ routes: [PushRoute], _ webPush: WebPushRoutes? = nil) {
        guard !isStopping else { return }
        reloads += 1
        reload(webPush)
        pools.hint = configuration.credentialsHint
        preparation = PushPreparation(
            texts: configuration.texts, profiles: configuration.profiles, mintWakeToken: mintWakeToken, wall: wall)
        let serving = pools.all.filter { !$0.isRetired && $0.endpoint.provider != .webpush }
        let successors = PushSuccession.pair(serving.map(\.endpoint), with: routes)
        let kept = successors.compactMap { routes[$0.key].isSame(as: serving[$0.value].endpoint) ? $0.key : nil }
        dropMapper(
            unless: configuration.mapsIOSAlerts && kept.contains { successors[$0].map { serving[$0] } === mapperPool })
        mapsIOSAlerts = configuration.mapsIOSAlerts
        for (index, pool) in serving.enumerated() where !successors.values.contains(index) { pool.retire() }
        for (index, route) in routes.enumerated() {
            guard let successor = successors[index] else {
                add(route)
                continue
            }
            if !kept.contains(index) { replace(serving[successor], with: route) }
        }
        for pool in pools.all { pool.withdraw { isServed($0, by: pool) ? nil : reason(for: $0) } }
        schedulePublishing()
    }

    /// Applies another configuration of Web Push to the pools that were made.
    private func reload(_ webPush: WebPushRoutes?) {
        pools.webPush = webPush
        for pool in pools.webPushPools where !pool.isRetired {
            guard let route = webPush?.route(host: pool.endpoint.host, port: pool.endpoint.port) else {
                pool.retire()
                continue
            }
            if !route.isSame(as: pool.endpoint) { pool.replace(route, accessTokens: nil) }
        }
    }

    private func replace(_ pool: PushPool, with route: PushRoute) {
        let source = accessTokens(for: route)
        pool.replace(route, accessTokens: source)
        if let source { map(through: pool, with: source) }
    }

    /// Completes waiting mappings without a token: their alerts go to APNs directly.
    private func dropMapper(unless isKept: Bool) {
        guard !isKept, let dropped = mapper else { return }
        mapper = nil
        mapperPool = nil
        dropped.close()
    }

    private func isServed(_ prepared: PushPreparation.Prepared, by pool: PushPool) -> Bool {
        guard !pool.isRetired else { return false }
        // A mapped alert belongs to the pool's project, which never changes.
        guard prepared.request.provider == prepared.terms.token?.provider else { return true }
        return prepared.terms.token.map(pool.endpoint.covers) ?? true
    }

    /// Why no route is left for the push.
    private func reason(for prepared: PushPreparation.Prepared) -> String {
        let gone = "its credential was taken out of the configuration"
        guard let token = prepared.terms.token else { return gone }
        do {
            _ = try pools.destination(of: token)
            return gone
        } catch {
            return error.reason
        }
    }

    /// Moves a push that was prepared for another pool and is not announced yet.
    private func sendElsewhere(_ job: PushPreparation.Job, _ prepared: PushPreparation.Prepared) {
        if job.mapped != nil {
            mapped[job.intent.id] = nil
            return prepare(PushPreparation.Job(intent: job.intent, mapped: nil))
        }
        do {
            let pool = try destination(of: job)
            guard hasRoom(pool, for: job.intent.user) else {
                return finish(job.intent.id, .unsent(reason: "push queue full"))
            }
            pool.queue(prepared)
        } catch {
            finish(job.intent.id, .unsent(reason: error.reason))
        }
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

    /// FCM's verdict on a mapped token does not apply to the device's APNs token, which is mapped again.
    private func unmapped(_ event: PushEvent) -> PushEvent {
        guard case .outcome(let push, let outcome) = event, outcome != .returned,
            let token = mapped.removeValue(forKey: push), case .rejected(let reason, true) = outcome
        else { return event }
        mapper?.forget(token)
        return .outcome(push, .rejected(reason: reason, isTokenDead: false))
    }

    /// Schedules one publication for all events until the loop's next jobs.
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
        guard reloads > 0 else { return }
        // Withdraws pushes that returned to a pool without a credential.
        for pool in pools.all where pool.isRetired { pool.withdraw { reason(for: $0) } }
        // Not when the last push ends, because that is within a call of its pool.
        for pool in pools.removeRetired() { pool.close() }
    }

    private var statistics: PushStatistics {
        var statistics = PushStatistics()
        statistics.pools = pools.statistics
        statistics.preparing = preparing.count
        statistics.mapping = mapping.count
        statistics.refused = refused
        return statistics
    }

    // MARK: Stop

    /// Accepts and announces nothing more; `onDrained` is called when no push is in flight.
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

    /// Closes all connections; the resulting outcomes are published before it returns.
    func close() {
        onDrained = nil
        mapper?.close()
        for pool in pools.all { pool.close() }
        publishNow()
        pools.removeAll()
        mapper = nil
        mapperPool = nil
    }
}

@available(*, unavailable)
extension PushDispatcher: Sendable {}
