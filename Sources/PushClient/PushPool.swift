import CallVocabulary
import EventLoop
import HTTP2
import Logging
import PushCore

/// The pushes of one APNs environment: carries out what the machine says. Lives on the push loop.
final class PushPool {
    /// Between two log lines of the same alarm; the counters miss none.
    private static let alarmInterval = Duration.seconds(10)

    let endpoint: APNSEndpoint
    private let loop: EventLoop
    private let now: @Sendable () -> Instant
    private let signer: ProviderTokenSigner
    private let tls: TLSClientContext
    private let log: Logger
    private let onEvent: (PushEvent) -> Void

    private var machine: PushMachine
    /// Not yet carried out; non-empty only while ``run()`` is under way.
    private var effects: [PushEffect] = []
    private var isClosing = false
    private var isRunning = false
    private var requests: [PushID: APNSRequest] = [:]
    private var connections: [PushConnectionID: APNSConnection] = [:]
    private var providerToken: (generation: Int, text: String)?
    private var signing: Task<Void, Never>?
    private var timer: LoopTimer?
    private var timerIsSetFor: Instant?
    private var quietUntil: [PushAlarm.Kind: Instant] = [:]
    private var credential = CredentialHealth()
    private var customOmitted: UInt64 = 0
    private var nameOmitted: UInt64 = 0

    init(
        endpoint: APNSEndpoint, signer: ProviderTokenSigner, tls: TLSClientContext, loop: EventLoop,
        now: @escaping @Sendable () -> Instant, log: Logger, onEvent: @escaping (PushEvent) -> Void
    ) {
        self.endpoint = endpoint
        self.loop = loop
        self.now = now
        self.signer = signer
        self.tls = tls
        self.log = log
        self.onEvent = onEvent
        machine = PushMachine(policy: endpoint.policy, seed: .random(in: .min ... .max))
        timer = LoopTimer(loop: loop) { [weak self] in self?.timeOut() }
    }

    var queueDepth: Int { machine.queueDepth }
    var streamsInFlight: Int { machine.streamsInFlight }

    var statistics: PushStatistics.Pool {
        var statistics = PushStatistics.Pool(environment: endpoint.environment)
        statistics.queueDepth = machine.queueDepth
        statistics.streamsInFlight = machine.streamsInFlight
        statistics.openConnections = machine.openConnections
        statistics.counters = machine.counters
        statistics.credential = credential
        statistics.customOmitted = customOmitted
        statistics.nameOmitted = nameOmitted
        return statistics
    }

    func contains(_ push: PushID) -> Bool { machine.contains(push) }
    func isAnnounced(_ push: PushID) -> Bool { machine.isAnnounced(push) }

    func queue(_ request: APNSRequest, tokenRegisteredAt: Instant?) {
        if !request.payload.omitted.isEmpty {
            customOmitted += 1
            if request.payload.omitted.contains(.name) { nameOmitted += 1 }
            let omitted = request.payload.omitted.map(\.rawValue).joined(separator: ", ")
            log.notice("payload too large: left out \(omitted)", metadata: ["push": "\(request.id)"])
        }
        requests[request.id] = request
        handle(.queued(request.id, PushTerms(expiresAt: request.expiresAt, tokenRegisteredAt: tokenRegisteredAt)))
    }

    func transmit(_ push: PushID) { handle(.cleared(push)) }

    func drop(_ push: PushID) {
        handle(.dropped(push))
        if !machine.contains(push) { requests[push] = nil }
    }

    /// Ends every connection; what is on the wire ends as unknown. Nothing works any more after that.
    func close() {
        isClosing = true
        for connection in connections.values.sorted(by: { $0.id.serial < $1.id.serial }) {
            connection.close()
            handle(.closed(connection.id, reason: "the server stops"))
        }
        connections = [:]
        signing?.cancel()
        // Here and not in deinit: a timer is released on its loop's thread, the pool perhaps is not.
        timer = nil
    }

    // MARK: The machine

    private func handle(_ input: PushInput) {
        machine.handle(input, now: now(), effects: &effects)
        run()
    }

    private func timeOut() {
        timerIsSetFor = nil
        machine.handleTimeouts(now: now(), effects: &effects)
        run()
    }

    /// Carries effects out in order. What an effect leads to at once is carried out by the same run, after those
    /// before it.
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
        setTimer()
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
            credential.note(outcome)
            if outcome != .returned { requests[push] = nil }
            onEvent(.outcome(push, outcome))
        case .alarm(let alarm):
            credential.note(alarm)
            logAlarm(alarm)
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
        let note: (String) -> Void = { [log] text in log.info("\(text)", metadata: ["connection": "\(id.serial)"]) }
        let connection = APNSConnection(id: id, loop: loop, endpoint: endpoint, tls: tls, onNote: note) {
            [weak self] input in
            if case .closed(let id, _) = input { self?.connections[id] = nil }
            self?.handle(input)
        }
        connections[id] = connection
        connection.open()
    }

    private func submit(_ push: PushID, on id: PushConnectionID, tokenGeneration: Int) {
        // Both are there: the machine submits only what was queued and only with a token that was signed.
        guard let request = requests[push], let providerToken, providerToken.generation == tokenGeneration else {
            preconditionFailure("a push is submitted with its request and its token")
        }
        guard let connection = connections[id] else { return handle(.notSubmitted(id, push)) }
        let fields = request.fields(providerToken: providerToken.text, now: now())
        let stream = connection.submit(
            HTTP2Request(
                method: "POST", authority: authority, path: request.path, isPathSensitive: true,
                fields: fields.map { HTTPField($0.name, $0.value, isSensitive: !$0.isIndexed) },
                body: request.payload.bytes))
        if let stream {
            handle(.submitted(id, push, stream: stream.rawValue))
        } else {
            handle(.notSubmitted(id, push))
        }
    }

    private var authority: String {
        endpoint.port == 443 ? endpoint.host : "\(endpoint.host):\(endpoint.port)"
    }

    /// The key's signature is made off the loop; only the result comes back.
    private func sign(_ generation: Int, issuedAt: Instant) {
        let pool = LoopBound(WeakPool(pool: self), on: loop)
        signing = Task { [signer, loop] in
            let result: Result<String, any Error>
            do { result = .success(try await signer.sign(issuedAt: issuedAt)) } catch { result = .failure(error) }
            loop.execute { pool.value.pool?.signed(generation, result) }
        }
    }

    private func signed(_ generation: Int, _ result: Result<String, any Error>) {
        switch result {
        case .success(let text):
            providerToken = (generation, text)
            log.info("provider token signed", metadata: ["token": "\(text.prefix(8))…"])
            handle(.providerTokenSigned(generation: generation))
        case .failure(let error):
            handle(.providerTokenFailed(generation: generation, reason: String(describing: error)))
        }
    }

    /// One line in a while for each kind: what is wrong with one push is mostly wrong with all of them.
    private func logAlarm(_ alarm: PushAlarm) {
        guard quietUntil[alarm.kind].map({ $0 <= now() }) ?? true else { return }
        quietUntil[alarm.kind] = now() + Self.alarmInterval
        let place: Logger.Metadata = ["host": "\(endpoint.host):\(endpoint.port)"]
        switch alarm {
        case .clockSkew:
            log.error("APNs calls a new provider token expired: check this machine's clock", metadata: place)
        case .credentialRefused(let reason):
            log.error("APNs refuses the credential (\(reason)): check key id, team id and key", metadata: place)
        case .addressRefused(let push, let reason):
            var metadata = place
            metadata["topic"] = "\(requests[push]?.topic ?? "")"
            metadata["token"] = "\(requests[push]?.path.dropFirst("/3/device/".count).prefix(8) ?? "")…"
            log.warning(
                "APNs refuses the address (\(reason)): a token of the other environment or app?", metadata: metadata)
        case .signingFailed(let reason):
            log.error("no provider token could be signed: \(reason)", metadata: place)
        case .connectionFailed(let reason):
            log.warning(
                """
                no connection to APNs: \(reason); pushes wait for one until their ring time is over. Check the network, \
                or that the push simulator runs
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
