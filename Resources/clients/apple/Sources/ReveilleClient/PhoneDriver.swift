import CallVocabulary
import Dispatch
import Foundation
import SoftphoneSession

/// Runs one `ClientSession` on a serial queue: passes inputs to it and performs its effects. On the queue.
final class PhoneDriver {
    private let queue: DispatchQueue
    private let url: URL
    private let token: Softphone.TokenSource
    private let transport: any WebSocketTransport
    private(set) var session: ClientSession
    private var receivers = SessionReceivers()

    private var connection: (any WebSocketConnection)?
    /// When the earliest scheduled call of `timerFired` is; an early one finds nothing due.
    private var armedFor: Duration?
    private var effects: [SessionEffect] = []
    private var isDraining = false
    private var isShutDown = false

    init(configuration: Softphone.Configuration, url: URL, queue: DispatchQueue) {
        self.queue = queue
        self.url = url
        token = configuration.token
        transport = configuration.transport
        session = ClientSession(configuration: configuration.session, seed: configuration.seed)
    }

    // MARK: In

    func take(_ input: SessionInput) {
        guard !isShutDown else { return }
        session.handle(input, now: Self.now, effects: &effects)
        drain()
    }

    /// Passes `input`, made with a new ticket, to the session; `completion` gets the result.
    func take(_ completion: @escaping SessionReceivers.Completion, _ input: (CommandTicket) -> SessionInput) {
        guard !isShutDown else { return completion(.failure(.closed)) }
        take(input(receivers.ticket(completion)))
    }

    /// - Parameter finish: called after the last event.
    func addStream(
        _ id: EventStreamID, yield: @escaping @Sendable (SoftphoneEvent) -> Void,
        finish: @escaping @Sendable () -> Void
    ) {
        guard !isShutDown else { return finish() }
        receivers.addStream(id, yield: yield, finish: finish)
    }

    func removeStream(_ id: EventStreamID) { receivers.removeStream(id) }

    func shutDown() {
        take(.abandoned)
        isShutDown = true
        connection = nil
        receivers.finishStreams()
    }

    // MARK: Out

    private func drain() {
        guard !isDraining else { return }
        isDraining = true
        var next = 0
        while next < effects.count {
            let effect = effects[next]
            next += 1
            perform(effect)
        }
        effects.removeAll(keepingCapacity: true)
        isDraining = false
        arm()
    }

    private func perform(_ effect: SessionEffect) {
        switch effect {
        case .fetchToken(let attempt): fetchToken(attempt: attempt)
        case .connect(let attempt): connect(attempt: attempt)
        case .send(let message):
            guard let connection,
                let frame = session.frame(of: message, now: Self.now, effects: &effects)
            else { return }
            connection.send(String(decoding: frame, as: UTF8.self))
        case .disconnect:
            connection?.close(code: 1001)
            connection = nil
        case .complete(let ticket, let result): receivers.removeCompletion(of: ticket)?(result)
        case .notify(let event): for stream in receivers.streams { stream.yield(event) }
        }
    }

    private func fetchToken(attempt: UInt64) {
        switch token {
        case .fixed(let token): take(.tokenFetched(attempt: attempt, token: token))
        case .provider(let provide):
            let driver = QueueBound(self, on: queue)
            Task {
                do {
                    let token = try await provide()
                    driver.run { $0.take(.tokenFetched(attempt: attempt, token: token)) }
                } catch {
                    let reason = "\(error)"
                    driver.run { $0.take(.tokenFailed(attempt: attempt, reason: reason)) }
                }
            }
        }
    }

    private func connect(attempt: UInt64) {
        let driver = QueueBound(self, on: queue)
        connection = transport.connect(to: url, subprotocol: Softphone.subprotocol) { event in
            driver.run { $0.happened(event, attempt: attempt) }
        }
    }

    private func happened(_ event: WebSocketEvent, attempt: UInt64) {
        switch event {
        case .opened: take(.connected(attempt: attempt))
        case .received(let bytes):
            guard !isShutDown else { return }
            bytes.withUnsafeBytes { frame in
                session.handle(frame: frame, attempt: attempt, now: Self.now, effects: &effects)
            }
            drain()
        case .receivedBinary: take(.receivedUnreadable(attempt: attempt))
        case .closed(let code, let reason):
            if attempt == session.attempt { connection = nil }
            take(
                .disconnected(
                    attempt: attempt, code: code, reason: reason.isEmpty ? "the connection was closed" : reason))
        }
    }

    // MARK: Time

    private static let origin = ContinuousClock.now

    /// Goes on while the device sleeps, unlike the queue's timers: a timer that is late costs nothing, because a wake-up
    /// brings an input (`start`, a push) that does not wait for it.
    private static var now: Duration { origin.duration(to: .now) }

    private func arm() {
        guard !isShutDown, let deadline = session.nextDeadline else { return }
        if let armedFor, armedFor <= deadline { return }
        armedFor = deadline
        QueueBound(self, on: queue).run(after: max(.zero, deadline - Self.now)) { $0.timerFired(deadline) }
    }

    private func timerFired(_ deadline: Duration) {
        // A later call was replaced by this one, and stays scheduled.
        if armedFor == deadline { armedFor = nil }
        guard !isShutDown else { return }
        session.handleTimeouts(now: Self.now, effects: &effects)
        drain()
    }
}
