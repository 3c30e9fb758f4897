import AdminProtocol
import CallVocabulary
import EventLoop
import Logging
import OutgoingHTTP
import StoreInterface
import Synchronization
import TLS

/// Sends events to the endpoints, on a thread of its own. A receiver that is slow or down delays no call, because
/// events wait in the store. May be used from any thread.
public final class WebhookService: Sendable {
    public struct Environment: Sendable {
        public var queries: any StoreQueries
        /// The time of the server's timeline, and its conversion to wall time.
        public var now: @Sendable () -> Instant
        public var wall: @Sendable (Instant) -> Instant
        /// The system clock, for signatures.
        public var wallTime: @Sendable () -> Instant
        /// Reads and writes the state of the deliveries, as bytes. `load` returns nil when none was saved. If `load` throws,
        /// the start fails.
        public var load: @Sendable () throws -> [UInt8]?
        public var save: @Sendable ([UInt8]) throws -> Void
        /// The file or the table that `load` reads, for messages.
        public var place: String
        public var userAgent: String
        public var log: Logger

        public init(
            queries: any StoreQueries, now: @escaping @Sendable () -> Instant,
            wall: @escaping @Sendable (Instant) -> Instant, wallTime: @escaping @Sendable () -> Instant,
            load: @escaping @Sendable () throws -> [UInt8]?, save: @escaping @Sendable ([UInt8]) throws -> Void,
            place: String = "webhooks.json", userAgent: String, log: Logger
        ) {
            self.queries = queries
            self.now = now
            self.wall = wall
            self.wallTime = wallTime
            self.load = load
            self.save = save
            self.place = place
            self.userAgent = userAgent
            self.log = log
        }
    }

    /// The result of a test message.
    public enum TestResult: Equatable, Sendable {
        /// - Parameter isTaken: whether the status is one of 200 to 299.
        case answered(status: Int, isTaken: Bool, took: Duration)
        case failed(String)
    }

    /// How often the state is saved, if it has changed.
    private static let savePause = Duration.seconds(1)

    private let environment: Environment
    private let loop: EventLoop
    private let tls: TLSClientContext
    private let desk: LoopBound<Desk>
    /// The position of the last committed event.
    private let newest = Atomic<Int64>(0)
    /// Whether a task that reads ``newest`` is queued on the loop.
    private let isNoted = Atomic<Bool>(false)

    /// Starts the thread, which ends with ``stop()``.
    /// - Throws: `SystemError`, `TLSFailure`.
    public init(_ environment: Environment) throws {
        self.environment = environment
        loop = try EventLoop(name: "webhooks", scheduling: .batch)
        tls = try TLSClientContext.webClient.get()
        desk = LoopBound(Desk(), on: loop)
        loop.start()
    }

    /// Starts to send. Call it once, before the core records events.
    /// - Throws: `StoreFailure`, or the error of `Environment.load` or `Environment.save`.
    public func start(_ endpoints: [WebhookEndpoint]) async throws {
        let bytes = try environment.load()
        let state = bytes.flatMap { DeliveryState($0) }
        let last = try await environment.queries.lastEvent()
        // Events are recorded only where there are webhooks, and so a state.
        if state == nil, !endpoints.isEmpty, bytes != nil || last > 0 {
            environment.log.error(
                """
                the state of the webhooks is \(bytes == nil ? "missing" : "damaged"); all stored events are sent again. \
                To go on from an earlier state, stop the server and restore the file from a backup
                """, metadata: ["file": .string(environment.place)])
        }
        newest.store(last, ordering: .releasing)
        // Without any state, no stored event is known to be delivered.
        try await open(endpoints, state?.endpoints ?? [:], newFrom: state == nil ? 0 : last)
        await loop.run { [desk, loop, environment] in
            let timer = LoopTimer(loop: loop) {
                desk.value.saveIfChanged(environment)
                desk.value.saveTimer?.start(after: Self.savePause)
            }
            desk.value.saveTimer = timer
            timer.start(after: Self.savePause)
        }
    }

    /// Replaces the endpoints. An endpoint with a known name continues after its last event; a new endpoint gets the
    /// events that are recorded from now on.
    /// - Throws: `StoreFailure`, or what saving the state throws; nothing has changed then.
    public func reload(_ endpoints: [WebhookEndpoint]) async throws {
        let known = await loop.run { [desk] in Set(desk.value.senders.keys) }
        let new = endpoints.filter { known?.contains($0.name) == false }
        try await open(new, [:], newFrom: newest.load(ordering: .acquiring))
        let names = Set(endpoints.map(\.name))
        await loop.run { [desk] in
            for (name, sender) in desk.value.senders where !names.contains(name) {
                sender.stop()
                desk.value.senders[name] = nil
            }
            for endpoint in endpoints { desk.value.senders[endpoint.name]?.change(to: endpoint) }
        }
    }

    private func open(
        _ endpoints: [WebhookEndpoint], _ states: [String: DeliveryState.Endpoint], newFrom position: Int64
    ) async throws {
        guard !endpoints.isEmpty else { return }
        let last = newest.load(ordering: .acquiring)
        var opened: [(WebhookEndpoint, DeliveryState.Endpoint, [StoredEvent])] = []
        for endpoint in endpoints {
            var state = states[endpoint.name] ?? DeliveryState.Endpoint(cursor: position)
            if state.cursor > last {
                environment.log.warning(
                    "the store is older than the webhooks' state: an endpoint goes on with the next event",
                    metadata: ["endpoint": .string(endpoint.name)])
                state.cursor = last
                state.unsettled.removeAll { $0.position > last }
                state.behind?.removeAll { $0.position >= last }
            }
            opened.append((endpoint, state, try await environment.queries.events(at: state.unsettled.map(\.position))))
        }
        // On disk before the first event: an endpoint without a place would start at a later one.
        let saved: Result<Void, any Error>? = await loop.run { [self, opened] in
            var present = desk.value.state
            for (endpoint, state, _) in opened { present.endpoints[endpoint.name] = state }
            do { try environment.save(present.bytes) } catch { return .failure(error) }
            // Events that were committed meanwhile have told the other endpoints only.
            let last = newest.load(ordering: .acquiring)
            let senders = desk.value.client(loop, tls, environment.userAgent)
            for (endpoint, state, unsettled) in opened {
                desk.value.senders[endpoint.name] = EndpointSender(
                    endpoint, environment, client: senders, loop: loop, state: state, unsettled: unsettled, newest: last
                )
                desk.value.senders[endpoint.name]?.note(newest: last)
            }
            return .success(())
        }
        try saved?.get()
    }

    /// Notes that the commit of `count` more events is on disk. Never blocks.
    public func committed(_ count: Int) {
        newest.add(Int64(count), ordering: .acquiringAndReleasing)
        guard !isNoted.exchange(true, ordering: .acquiringAndReleasing) else { return }
        loop.execute { [self] in
            isNoted.store(false, ordering: .releasing)
            let position = newest.load(ordering: .acquiring)
            for sender in desk.value.senders.values { sender.note(newest: position) }
        }
    }

    // MARK: Administration

    /// The endpoints, sorted by name.
    public func endpoints() async -> [WebhookView] {
        await loop.run { [desk] in
            desk.value.senders.sorted { $0.key < $1.key }.map { WebhookView($0.value) }
        } ?? []
    }

    /// Sends nothing until ``resume(_:)``. Events wait in the store.
    /// - Returns: false for an unknown name.
    public func pause(_ name: String) async -> Bool { await change(name) { $0.pause() } }

    /// Sends again, also to a disabled endpoint. Retries are due at once.
    /// - Returns: false for an unknown name.
    public func resume(_ name: String) async -> Bool { await change(name) { $0.resume() } }

    /// The wall time, to which the times of events are compared.
    public var wallTime: Instant { environment.wallTime() }

    /// Sends all stored events since `time` (wall time) again.
    /// - Returns: false for an unknown name.
    public func replay(_ name: String, since time: Instant) async throws(StoreFailure) -> Bool {
        let position = try await environment.queries.eventPosition(before: time)
        return await change(name) { $0.rewind(to: position) }
    }

    private func change(_ name: String, _ body: @escaping @Sendable (EndpointSender) -> Void) async -> Bool {
        await loop.run { [desk, environment] in
            guard let sender = desk.value.senders[name] else { return false }
            body(sender)
            desk.value.saveIfChanged(environment)
            return true
        } ?? false
    }

    /// Sends a message of the type `webhook.test`, outside the queue.
    /// - Returns: nil for an unknown name.
    public func test(_ name: String) async -> TestResult? {
        let began = ContinuousClock.now
        let sent = Timestamp(environment.wallTime()).rfc3339
        let body = Array(#"{"type":"webhook.test","timestamp":"\#(sent)","data":{}}"#.utf8)
        return await withCheckedContinuation { continuation in
            let isRunning = loop.execute { [desk] in
                guard let sender = desk.value.senders[name] else { return continuation.resume(returning: nil) }
                sender.test(id: .random(), body: body) { result in
                    let took = ContinuousClock.now - began
                    switch result {
                    case .success(let answer):
                        let isTaken = (200..<300).contains(answer.status)
                        continuation.resume(
                            returning: .answered(status: answer.status, isTaken: isTaken, took: took))
                    case .failure(let failure): continuation.resume(returning: .failed(failure.description))
                    }
                }
            }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }

    /// Ends all attempts and saves the state.
    public func stop() async {
        await loop.run { [desk, environment] in
            for sender in desk.value.senders.values { sender.stop() }
            desk.value.saveIfChanged(environment)
            desk.value.close()
        }
        await loop.stopAndWait()
    }
}

/// The state that is confined to the loop.
private final class Desk {
    var senders: [String: EndpointSender] = [:]
    var saveTimer: LoopTimer?
    private var client: WebClient?
    /// Whether the last attempt to save failed.
    private var isUnsaved = false

    func client(_ loop: EventLoop, _ tls: TLSClientContext, _ userAgent: String) -> WebClient {
        if let client { return client }
        let made = WebClient(loop: loop, tls: tls, userAgent: userAgent)
        client = made
        return made
    }

    var state: DeliveryState {
        var state = DeliveryState()
        for (name, sender) in senders { state.endpoints[name] = sender.state }
        return state
    }

    func saveIfChanged(_ environment: WebhookService.Environment) {
        guard isUnsaved || senders.values.contains(where: \.isChanged) else { return }
        for sender in senders.values { sender.isChanged = false }
        do {
            try environment.save(state.bytes)
            if isUnsaved { environment.log.notice("the state of the webhooks is saved again") }
            isUnsaved = false
        } catch {
            if !isUnsaved {
                environment.log.error(
                    "the state of the webhooks cannot be saved; after a restart, events are sent twice",
                    metadata: ["error": .string("\(error)")])
            }
            isUnsaved = true
        }
    }

    func close() {
        saveTimer = nil
        client?.close()
        client = nil
        senders = [:]
    }
}

@available(*, unavailable)
extension Desk: Sendable {}
