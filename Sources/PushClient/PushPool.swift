import CallVocabulary
import EventLoop
import HTTP2
import Logging
import PushCore
import PushVocabulary

/// The pushes of one credential in one environment: performs the machine's effects. Confined to the push loop.
package final class PushPool {
    private enum Line: Hashable { case alarm(PushAlarm.Kind), goAway }

    private static let mostPreparedFields = 64

    private(set) var endpoint: PushRoute
    /// The credential was removed: the pool sends nothing more, and waits for outstanding answers.
    private(set) var isRetired = false
    /// The pseudo-header fields before the path, the same in every request.
    private var origin: PreparedFields
    private let loop: EventLoop
    private let now: @Sendable () -> Instant
    private let wall: @Sendable (Instant) -> Instant
    /// The source of access tokens, if the credential is a service account.
    private var accessTokens: AccessTokenSource?
    private let log: Logger
    private let onEvent: (PushEvent) -> Void

    /// Pushes for this pool whose wake token is in preparation; the dispatcher maintains the count.
    var preparing = 0
    private var machine: PushMachine
    /// Effects to perform; non-empty only during ``run()``.
    private var effects: [PushEffect] = []
    private var isClosing = false
    private var isRunning = false
    private var isEndPlanned = false
    private var requests: [PushID: PushPreparation.Prepared] = [:]
    private var connections: [PushConnectionID: ProviderConnection] = [:]
    /// The newest token and the previous one: the machine keeps using the previous one when the newest is unusable.
    private var providerTokens: [(generation: Int, text: String)] = []
    /// The token generation of the prepared fields.
    private var preparedGeneration = 0
    /// The fields that requests of one kind share, including the provider token.
    private var preparedFields: [PushRequest.Kind: PreparedFields] = [:]
    /// The fields used last: consecutive requests are mostly of the same kind.
    private var latestFields: (kind: PushRequest.Kind, fields: PreparedFields)?
    /// The time of this turn of the loop, once requested. A clock read for every step would be expensive.
    private var turnTime: Instant?
    private var signing: Task<Void, Never>?
    /// The number of credential replacements: a token requested before the last one is discarded.
    private var replacements = 0
    private var timer: LoopTimer?
    private var timerIsSetFor: Instant?
    private var lines = LineInterval<Line>()
    private var customOmitted: UInt64 = 0
    private var nameOmitted: UInt64 = 0
    private var timeToWire = LatencyHistogram()
    /// The decision times of pushes submitted in this turn, which are written at its end.
    private var unwritten: [Instant] = []

    init(
        endpoint: PushRoute, accessTokens: AccessTokenSource?, loop: EventLoop,
        now: @escaping @Sendable () -> Instant, wall: @escaping @Sendable (Instant) -> Instant, log: Logger,
        onEvent: @escaping (PushEvent) -> Void
    ) {
        self.endpoint = endpoint
        origin = Self.origin(of: endpoint)
        self.loop = loop
        self.now = now
        self.wall = wall
        self.accessTokens = accessTokens
        self.log = log
        self.onEvent = onEvent
        machine = PushMachine(policy: endpoint.policy, seed: .random(in: .min ... .max))
        timer = LoopTimer(loop: loop) { [weak self] in self?.timeOut() }
    }

    /// Makes a pool whose credential is a key or a certificate.
    package convenience init(
        endpoint: PushRoute, loop: EventLoop, now: @escaping @Sendable () -> Instant, log: Logger,
        onEvent: @escaping (PushEvent) -> Void
    ) {
        self.init(endpoint: endpoint, accessTokens: nil, loop: loop, now: now, wall: { $0 }, log: log, onEvent: onEvent)
    }

    private static func origin(of endpoint: PushRoute) -> PreparedFields {
        PreparedFields(method: "POST", authority: HTTPSHost(name: endpoint.host, port: endpoint.port).authority)
    }

    var streamsInFlight: Int { machine.streamsInFlight }
    /// Pushes of this pool, in preparation, waiting or on the wire.
    var load: Int { requests.count + preparing }
    var isIdle: Bool { load == 0 }
    /// Grows with each push that takes the pool, over all pools.
    var lastUse: UInt64 = 0
    /// Whether this is a push service that a device may have invented: a name below a `*` of `push.webpush.hosts`, not
    /// that of a browser, that has never accepted a push.
    var isUnproven: Bool { !endpoint.isKnown && machine.counters.accepted == 0 }
    /// Whether what fails here counts for readiness: the configuration names the host, or a push was accepted.
    var isTrusted: Bool { endpoint.isListed || machine.counters.accepted > 0 }
    /// The user whose push the pool was made for, if it is one of a push service.
    var opener: Handle?

    /// Pushes of one user, waiting or on the wire.
    func load(of user: Handle) -> Int { requests.values.count { $0.terms.user == user } }

    package var statistics: PushStatistics.Pool {
        var statistics = PushStatistics.Pool(
            provider: endpoint.provider, environment: endpoint.environment, name: endpoint.name,
            credentialName: endpoint.credentialName, advice: endpoint.advice)
        statistics.topics = endpoint.topics
        if case .certificate(let certificate) = endpoint.credential {
            statistics.certificateExpiresAt = certificate.expiresAt
        }
        statistics.queueDepth = machine.queueDepth
        statistics.held = machine.heldPushes
        statistics.oldestWaiting = machine.oldestWaiting
        (statistics.cutOffAt, statistics.overdueAt) = (machine.cutOffAt, machine.overdueAt)
        statistics.connectionFailure = machine.connectionFailure
        statistics.throttledDevices = machine.throttledDevices
        statistics.circuit = machine.circuit
        statistics.throttledUntil = machine.throttledUntil
        statistics.streamsInFlight = machine.streamsInFlight
        statistics.openConnections = machine.openConnections
        statistics.counters = machine.counters
        if isTrusted { (statistics.ended, statistics.failed) = (machine.counters.ended, machine.counters.failed) }
        statistics.credential = machine.credential
        statistics.suspectTopics = machine.suspectTopics
        statistics.allRefusedAt = machine.allRefusedAt
        statistics.customOmitted = customOmitted
        statistics.nameOmitted = nameOmitted
        statistics.timeToWire = timeToWire
        return statistics
    }

    /// Same as whether the machine holds the push, because it holds a push while its request is here. A query of the
    /// machine would copy it.
    func contains(_ push: PushID) -> Bool { requests[push] != nil }
    func isUnsent(_ push: PushID) -> Bool { machine.isUnsent(push) }

    package func queue(_ prepared: PushPreparation.Prepared) {
        let id = prepared.request.id
        let omitted = prepared.request.omitted
        if !omitted.isEmpty {
            if omitted.contains(.custom) { customOmitted += 1 }
            if omitted.contains(.name) { nameOmitted += 1 }
            let words = omitted.map(\.rawValue).joined(separator: ", ")
            log.notice("payload too large: left out \(words)", metadata: ["push": .string("\(id)")])
        }
        if requests[id] == nil { requests[id] = prepared }
        handle(.queued(id, prepared.terms))
    }

    package func transmit(_ push: PushID) { handle(.cleared(push)) }

    func postpone(_ push: PushID) { handle(.postponed(push)) }

    func drop(_ push: PushID) {
        handle(.dropped(push))
        if !machine.contains(push) { requests[push] = nil }
    }

    /// Replaces the route: waiting pushes use the new one, and answers to sent ones are awaited on the old connections.
    /// - Parameter accessTokens: the new route's source, if its credential is a service account. The old source is
    ///   closed.
    func replace(_ route: PushRoute, accessTokens: AccessTokenSource?) {
        endpoint = route
        origin = Self.origin(of: route)
        self.accessTokens?.close()
        self.accessTokens = accessTokens
        // The signature would be the old credential's.
        signing?.cancel()
        signing = nil
        replacements += 1
        providerTokens = []
        preparedFields = [:]
        latestFields = nil
        handle(.credentialReplaced(route.policy.credential))
    }

    /// Handles a change of the system clock, or a suspension of the machine, during which its timers stopped.
    func clockChanged(isSet: Bool) {
        if isSet { handle(.clockSet) }
        timeOut()
    }

    /// Removes the credential without a successor.
    func retire() {
        isRetired = true
    }

    /// Ends waiting pushes as unsent.
    /// - Parameter reason: returns the reason for a push to end; nil for a push to keep.
    func withdraw(_ reason: (PushPreparation.Prepared) -> String?) {
        for (id, prepared) in requests.sorted(by: { $0.key < $1.key }) {
            guard let reason = reason(prepared) else { continue }
            handle(.credentialGone(id, reason: reason))
        }
    }

    /// Closes every connection; pushes in flight end as unknown. The pool is unusable afterwards.
    package func close() {
        isClosing = true
        for connection in connections.values.sorted(by: { $0.id.serial < $1.id.serial }) {
            connection.close()
            handle(.closed(connection.id, reason: "the server stops"))
        }
        connections = [:]
        signing?.cancel()
        accessTokens?.close()
        // Not in `deinit`: a timer must be released on its loop's thread, and the pool may be released elsewhere.
        timer = nil
    }

    // MARK: The machine

    private func handle(_ input: PushInput) {
        machine.handle(input, now: turnNow(), effects: &effects)
        run()
    }

    private func turnNow() -> Instant {
        if let turnTime { return turnTime }
        let time = now()
        turnTime = time
        planEndOfTurn()
        return time
    }

    private func timeOut() {
        timerIsSetFor = nil
        turnTime = nil
        for connection in connections.values { connection.reportStatuses() }
        machine.handleTimeouts(now: turnNow(), effects: &effects)
        run()
    }

    /// Performs effects in order. New effects of an effect are appended and performed by the same run.
    private func run() {
        guard !isRunning else { return }
        isRunning = true
        var next = 0
        while next < effects.count {
            perform(effects[next])
            next += 1
        }
        effects.removeAll(keepingCapacity: true)
        isRunning = false
        planEndOfTurn()
    }

    private func perform(_ effect: PushEffect) {
        switch effect {
        case .open(let id): open(id)
        case .close(let id): connections.removeValue(forKey: id)?.close()
        case .ping(let id): connections[id]?.ping()
        case .signProviderToken(let generation, let issuedAt): sign(generation, issuedAt: issuedAt)
        case .ready(let push): onEvent(.ready(push))
        case .submit(let id, let push, let generation): submit(push, on: id, tokenGeneration: generation)
        case .cancel(let id, let stream): connections[id]?.cancel(stream: stream)
        case .outcome(let push, let outcome):
            if outcome != .returned { requests[push] = nil }
            onEvent(.outcome(push, outcome))
        case .alarm(let alarm): logAlarm(alarm)
        }
    }

    /// Schedules one run at the end of the turn, however many events occur.
    private func planEndOfTurn() {
        guard !isEndPlanned else { return }
        isEndPlanned = true
        loop.atEndOfTurn { [self] in
            isEndPlanned = false
            turnTime = nil
            setTimer()
        }
    }

    private func setTimer() {
        guard let timer else { return }
        let deadline = machine.nextDeadline()
        guard deadline != timerIsSetFor else { return }
        timerIsSetFor = deadline
        if let deadline {
            timer.start(after: max(.zero, deadline - now()))
        } else {
            timer.stop()
        }
    }

    // MARK: Effects

    private func open(_ id: PushConnectionID) {
        guard !isClosing else { return }
        let note: (String) -> Void = { [weak self] text in
            guard let self, lines.allows(.goAway, at: now()) else { return }
            log.info("\(text)", metadata: ["connection": .string("\(id.serial)")])
        }
        let wallTime: @Sendable () -> Instant = { [now, wall] in wall(now()) }
        let connection = ProviderConnection(id: id, loop: loop, endpoint: endpoint, now: wallTime, onNote: note) {
            // Captured strongly, because a weak capture costs much for every answer; `close` breaks the cycle.
            [self] input in
            if case .closed(let id, _) = input { connections[id] = nil }
            handle(input)
        }
        connections[id] = connection
        connection.open()
    }

    private func submit(_ push: PushID, on id: PushConnectionID, tokenGeneration: Int) {
        // The request exists: the machine submits only queued pushes.
        guard let prepared = requests[push]?.current(wall) else {
            preconditionFailure("a push is submitted with its request")
        }
        guard let connection = connections[id] else { return handle(.notSubmitted(id, push)) }
        let now = wall(turnNow())
        let stream = connection.submit(
            PreparedRequest(
                origin: origin, own: prepared.ownFields(now: now),
                shared: sharedFields(of: prepared, tokenGeneration: tokenGeneration),
                body: prepared.body(now: now)))
        if let stream {
            if let decidedAt = prepared.decidedAt { timeWriting(decidedAt) }
            handle(.submitted(id, push, stream: stream.rawValue))
        } else {
            handle(.notSubmitted(id, push))
        }
    }

    /// Records the time when all connections with new requests of this turn have written them.
    private func timeWriting(_ decidedAt: Instant) {
        unwritten.append(decidedAt)
        guard unwritten.count == 1 else { return }
        // Connections also write at the end of the turn. Two jobs in sequence run after connections that were scheduled
        // later.
        loop.atEndOfTurn { [self] in loop.atEndOfTurn { [self] in noteWritten() } }
    }

    private func noteWritten() {
        let written = now()
        for decidedAt in unwritten {
            timeToWire.observe(milliseconds: max(0, written.milliseconds - decidedAt.milliseconds))
        }
        unwritten.removeAll(keepingCapacity: true)
    }

    /// The provider token of a generation; nil where the connection is the credential.
    private func tokenText(_ generation: Int) -> String? {
        if case .certificate = endpoint.credential { return nil }
        // The machine submits only with one of these two tokens.
        guard let token = providerTokens.last(where: { $0.generation == generation }) else {
            preconditionFailure("a push is submitted with its token")
        }
        return token.text
    }

    private func sharedFields(of push: PushPreparation.Prepared, tokenGeneration: Int) -> PreparedFields {
        if preparedGeneration != tokenGeneration {
            preparedGeneration = tokenGeneration
            preparedFields.removeAll()
            latestFields = nil
        }
        if let latestFields, latestFields.kind == push.kind { return latestFields.fields }
        let fields = preparedFields[push.kind] ?? prepareFields(of: push, tokenGeneration: tokenGeneration)
        latestFields = (push.kind, fields)
        return fields
    }

    private func prepareFields(of push: PushPreparation.Prepared, tokenGeneration: Int) -> PreparedFields {
        let fields = push.request.sharedFields(providerToken: tokenText(tokenGeneration))
        // Devices choose topics: a bound limits the cache.
        if preparedFields.count >= Self.mostPreparedFields { preparedFields.removeAll() }
        let prepared = PreparedFields(fields.map(HTTPField.init))
        preparedFields[push.kind] = prepared
        return prepared
    }

    private func sign(_ generation: Int, issuedAt: Instant) {
        switch endpoint.credential {
        case .key(let signer): sign(generation, issuedAt: issuedAt, with: signer)
        // The machine requests no signature for a certificate.
        case .certificate: break
        case .account:
            accessTokens?.fetch { [weak self, replacements] found in
                guard let self, self.replacements == replacements else { return }
                switch found {
                case .success(let token): signed(generation, text: token.text, expiresAt: token.expiresAt)
                case .failure(let failure):
                    handle(.providerTokenFailed(generation: generation, reason: failure.description))
                }
            }
        }
    }

    /// Signs the provider token off the loop; only the result returns to it.
    private func sign(_ generation: Int, issuedAt: Instant, with signer: ProviderTokenSigner) {
        let pool = LoopBound(WeakPool(pool: self), on: loop)
        signing = Task { [loop, replacements, wall] in
            let result: Result<String, any Error>
            do { result = .success(try await signer.sign(issuedAt: wall(issuedAt))) } catch { result = .failure(error) }
            loop.execute {
                guard let pool = pool.value.pool, pool.replacements == replacements else { return }
                pool.signed(generation, result)
            }
        }
    }

    private func signed(_ generation: Int, _ result: Result<String, any Error>) {
        switch result {
        case .success(let text):
            log.info("provider token signed", metadata: ["host": .string("\(endpoint.host):\(endpoint.port)")])
            signed(generation, text: text, expiresAt: nil)
        case .failure(let error):
            handle(.providerTokenFailed(generation: generation, reason: String(describing: error)))
        }
    }

    private func signed(_ generation: Int, text: String, expiresAt: Instant?) {
        providerTokens = providerTokens.suffix(1) + [(generation, text)]
        handle(.providerTokenSigned(generation: generation, expiresAt: expiresAt))
    }

    /// Logs at most one line in ten seconds for each kind of alarm: the cause is mostly common to all pushes.
    private func logAlarm(_ alarm: PushAlarm) {
        // Failures during our own shutdown are no alarms.
        guard !isClosing else { return }
        guard lines.allows(.alarm(alarm.kind), at: now()) else { return }
        let provider = endpoint.name
        let place: Logger.Metadata = ["host": .string("\(endpoint.host):\(endpoint.port)")]
        switch alarm {
        case .clockSkew:
            log.error("\(provider) calls a new provider token expired: check this machine's clock", metadata: place)
        case .credentialRefused(let reason):
            log.error("\(provider) refuses the credential (\(reason.clause)): \(endpoint.advice)", metadata: place)
        case .addressRefused(let push, let reason):
            var metadata = place
            metadata["topic"] = .string("\(requests[push]?.request.topic ?? "")")
            metadata["token"] = .string("\(requests[push]?.request.address ?? "")")
            log.warning(
                "\(provider) refuses the address (\(reason.clause)): \(endpoint.addressAdvice)", metadata: metadata)
        case .configurationSuspected(let suspect):
            log.error("\(provider) \(suspect.problem(hasEnvironments: endpoint.provider == .apns))", metadata: place)
        case .signingFailed(let reason):
            log.error("cannot get a provider token for \(provider): \(reason)", metadata: place)
        case .providerThrottled(let reason):
            log.error(
                "\(provider) throttles this account (\(reason.clause)); pushes wait", metadata: place)
        case .connectionFailed(let reason):
            log.warning(
                """
                no connection to \(provider): \(reason.clause); pushes wait until their ring time ends. Check the network, or \
                whether the push simulator is running
                """,
                metadata: place)
        }
    }
}

@available(*, unavailable)
extension PushPool: Sendable {}

private struct WeakPool {
    weak var pool: PushPool?
}
