import CallVocabulary
import EventLoop
import Logging
import OutgoingHTTP
import StoreInterface

/// Sends the events of one endpoint: reads them from the store, posts them, and keeps the queue's state. Confined to
/// the loop.
final class EndpointSender {
    /// How long the receiver has for an answer.
    static let patience = Duration.seconds(15)
    static let longestAnswer = 64 * 1024
    /// The events read from the store at once, and their bodies' bytes.
    private static let page = 256
    private static let pageBytes = 1 << 20
    /// The pause before the next read, while committed events are not in the tables yet.
    private static let lag = Duration.milliseconds(100)

    struct Figures: Equatable {
        var taken: UInt64 = 0
        var failed: UInt64 = 0
        var givenUp: UInt64 = 0
        var lastTaken: Instant?
        /// The last failure, and when it was; nil once an event was taken after it.
        var lastFailure: (reason: String, at: Instant)?

        static func == (a: Self, b: Self) -> Bool {
            (a.taken, a.failed, a.givenUp, a.lastTaken, a.lastFailure?.reason, a.lastFailure?.at)
                == (b.taken, b.failed, b.givenUp, b.lastTaken, b.lastFailure?.reason, b.lastFailure?.at)
        }
    }

    private(set) var endpoint: WebhookEndpoint
    private let environment: WebhookService.Environment
    private let client: WebClient
    private let loop: EventLoop
    private(set) var queue: DeliveryQueue
    private(set) var isPaused: Bool
    private(set) var disabled: String?
    private(set) var figures = Figures()
    /// The position of the last committed event.
    private var newest: Int64
    private var isReading = false
    /// Changes with each rewind, so that a page that was requested before it is ignored.
    private var reading = 0
    private var exchanges: [Int64: WebExchange] = [:]
    /// The completions of test messages under way.
    private var tests: [EventID: (Result<WebAnswer, WebFailure>) -> Void] = [:]
    private var timer: LoopTimer?
    private var lagTimer: LoopTimer?
    private var random = SystemRandomness()
    /// Whether ``state`` has changed since it was saved.
    var isChanged = false

    init(
        _ endpoint: WebhookEndpoint, _ environment: WebhookService.Environment, client: WebClient, loop: EventLoop,
        state: DeliveryState.Endpoint, unsettled: [StoredEvent], newest: Int64
    ) {
        self.endpoint = endpoint
        self.environment = environment
        self.client = client
        self.loop = loop
        self.newest = newest
        isPaused = state.isPaused
        disabled = state.disabled
        figures.givenUp = state.givenUp
        queue = DeliveryQueue(cursor: state.cursor)
        let now = environment.now()
        let offset = environment.wall(now) - now
        let kept = Dictionary(state.unsettled.map { ($0.position, $0) }) { $1 }
        for event in unsettled {
            guard let old = kept[event.position], endpoint.kinds.contains(event.kind) else { continue }
            queue.restore(
                event, attempts: old.attempts, due: Instant(milliseconds: old.due) + (.zero - offset))
        }
        for lag in state.behind ?? [] {
            queue.restore(
                DeliveryQueue.Lag(position: lag.position, count: lag.count), of: lag.user.flatMap { Handle(known: $0) })
        }
        if disabled != nil { queue.restoreGone() }
        timer = LoopTimer(loop: loop) { [weak self] in self?.goOn() }
    }

    /// Events without a result. Events that were not read yet count, whatever their kind.
    var backlog: Int { Int(max(0, newest - queue.cursor)) + queue.count }

    var state: DeliveryState.Endpoint {
        let unsettled = queue.unsettled.map {
            DeliveryState.Unsettled(
                position: $0.position, attempts: $0.attempts, due: environment.wall($0.due).milliseconds)
        }
        let behind = queue.behind.map {
            DeliveryState.Behind(user: $0.key?.text, position: $0.value.position, count: $0.value.count)
        }
        return DeliveryState.Endpoint(
            cursor: queue.cursor, isPaused: isPaused, disabled: disabled, unsettled: unsettled,
            behind: behind.isEmpty ? nil : behind, givenUp: figures.givenUp)
    }

    // MARK: Operations

    func change(to endpoint: WebhookEndpoint) {
        self.endpoint = endpoint
        goOn()
    }

    /// Events up to this position are committed.
    func note(newest position: Int64) {
        newest = max(newest, position)
        goOn()
    }

    func pause() {
        isPaused = true
        isChanged = true
    }

    func resume() {
        (isPaused, disabled) = (false, nil)
        queue.hasten(environment.now())
        isChanged = true
        goOn()
    }

    /// Sends the events after `position` again.
    func rewind(to position: Int64) {
        cancelAttempts()
        queue.rewind(to: min(position, queue.cursor), now: environment.now())
        reading += 1
        isReading = false
        isChanged = true
        goOn()
    }

    /// Sends one message, outside the queue.
    func test(id: EventID, body: [UInt8], completion: @escaping (Result<WebAnswer, WebFailure>) -> Void) {
        tests[id] = completion
        client.send(request(id: id.description, body: body)) { [weak self] result in
            self?.tests.removeValue(forKey: id)?(result)
        }
    }

    /// Ends all attempts. Nothing is sent from now on.
    func stop() {
        cancelAttempts()
        (timer, lagTimer) = (nil, nil)
        let unanswered = tests.values
        tests = [:]
        for completion in unanswered {
            completion(.failure(WebFailure(description: "the endpoint was removed, or the server stops")))
        }
    }

    private func cancelAttempts() {
        for exchange in exchanges.values { exchange.cancel() }
        exchanges = [:]
        queue.abandonAttempts(now: environment.now())
    }

    // MARK: Reading and sending

    private func goOn() {
        guard let timer else { return }
        read()
        guard !isPaused else { return timer.stop() }
        while let event = queue.next(at: environment.now()) { send(event) }
        if let due = queue.nextDue { timer.start(after: max(.milliseconds(1), due - environment.now())) }
    }

    private func read() {
        guard !isPaused, !isReading, let source = queue.nextSource(newest: newest) else { return }
        isReading = true
        // One at a time for each endpoint.
        Self.read(environment.queries, source, for: LoopBound(self, on: loop), reading)
    }

    private static func read(
        _ queries: any StoreQueries, _ source: DeliveryQueue.Source, for sender: LoopBound<EndpointSender>,
        _ reading: Int
    ) {
        Task {
            // Before the events: what is in the tables by then and not among the events was deleted. After an error,
            // the store recovers or the server stops.
            let last = try? await queries.lastEvent()
            let events = try? await queries.events(after: source.position, limit: page, bytes: pageBytes)
            sender.loop.execute { sender.value.take(events, from: source, through: last, asked: reading) }
        }
    }

    /// - Parameters:
    ///   - found: nil when they could not be read.
    ///   - last: the last event in the tables, as of before.
    private func take(
        _ found: [StoredEvent]?, from source: DeliveryQueue.Source, through last: Int64?, asked reading: Int
    ) {
        guard reading == self.reading, timer != nil else { return }
        // A commit that was repeated has more positions than it has events.
        newest = max(newest, last ?? 0)
        guard let found else { return readLater() }
        let now = environment.now()
        switch source {
        case .all:
            // Committed, and not in the tables yet.
            guard !found.isEmpty || (last ?? 0) > queue.cursor else { return readLater() }
            if found.isEmpty, let last { queue.pass(to: last) }
            queue.take(found, of: endpoint.kinds, now: now)
        case .user(let user, _): queue.take(found, of: user, endpoint.kinds, now: now)
        }
        isReading = false
        isChanged = true
        goOn()
    }

    private func readLater() {
        let (retry, reading) = (LoopBound(self, on: loop), reading)
        lagTimer = LoopTimer(loop: loop) {
            guard reading == retry.value.reading else { return }
            retry.value.isReading = false
            retry.value.goOn()
        }
        lagTimer?.start(after: Self.lag)
    }

    private func request(id: String, body: [UInt8]) -> WebRequest {
        let timestamp = environment.wallTime().milliseconds / 1000
        return WebRequest(
            .post, endpoint.address, fields: endpoint.secrets.fields(id: id, timestamp: timestamp, body: body),
            body: body, patience: Self.patience, longestAnswer: Self.longestAnswer, isRepeatable: true)
    }

    private func send(_ event: StoredEvent) {
        let position = event.position
        exchanges[position] = client.send(request(id: event.id.description, body: event.body.bytes)) {
            [weak self] result in
            guard let self else { return }
            exchanges[position] = nil
            finish(event, result)
            goOn()
        }
    }

    private func finish(_ event: StoredEvent, _ result: Result<WebAnswer, WebFailure>) {
        let now = environment.now()
        var outcome = DeliveryQueue.Outcome.taken
        switch result {
        case .success(let answer) where (200..<300).contains(answer.status): break
        case .success(let answer):
            outcome = answer.status == 410 ? .gone : .failed(retryAfter: answer.isOverloaded ? answer.retryAfter : nil)
            note(failure: "the receiver answered \(answer.status)", now)
        case .failure(let failure):
            outcome = failure.isUnsent ? .unreachable : .failed(retryAfter: nil)
            note(failure: failure.description, now)
        }
        let wasProbing = queue.isProbing
        let verdict = queue.finish(event.position, outcome, now: now, random: &random)
        isChanged = true
        if !queue.isGone { disabled = nil } else if disabled == nil { disable("the receiver answered 410 (Gone)") }
        if verdict == .taken {
            figures.taken += 1
            figures.lastTaken = environment.wall(now)
            figures.lastFailure = nil
        }
        switch (wasProbing, queue.isProbing) {
        case (true, false): log.notice("the webhook endpoint answers again", metadata: metadata)
        case (false, true) where disabled == nil:
            log.error("the webhook endpoint takes no events; they are kept and sent later", metadata: metadata)
        case (false, true), (true, true), (false, false): break
        }
        guard verdict == .givenUp else { return }
        figures.givenUp += 1
        var metadata = metadata
        metadata["event"] = .string(event.id.description)
        metadata["kind"] = .string(event.kind.rawValue)
        log.error("gave up on an event after the last attempt", metadata: metadata)
    }

    private func note(failure reason: String, _ now: Instant) {
        figures.failed += 1
        figures.lastFailure = (reason, environment.wall(now))
    }

    private func disable(_ reason: String) {
        disabled = reason
        log.error(
            """
            the webhook endpoint is disabled; only users without a refused event are tried. Enable it with: \
            reveille webhooks resume \(endpoint.name)
            """,
            metadata: metadata)
    }

    private var log: Logger { environment.log }

    private var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "endpoint": .string(endpoint.name), "backlog": .stringConvertible(backlog),
        ]
        if let failure = figures.lastFailure { metadata["reason"] = .string(failure.reason) }
        return metadata
    }
}

@available(*, unavailable)
extension EndpointSender: Sendable {}

extension WebAnswer {
    /// Whether the receiver asks for fewer messages, as Standard Webhooks has it.
    fileprivate var isOverloaded: Bool { [429, 502, 503, 504].contains(status) }
}
