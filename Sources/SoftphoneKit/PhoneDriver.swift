import CallVocabulary
import EventLoop
import LibWebSockets
import SoftphoneSession

/// Runs one ``ClientSession`` on a loop: gives it what happens, does what it wants. On the loop's thread.
final class PhoneDriver {
    typealias Completion = @Sendable (Result<Reply, SoftphoneError>) -> Void

    private let loop: EventLoop
    private let runtime: LoopBound<RuntimeState>
    private let url: WebSocketURL
    private let token: Softphone.TokenSource
    private(set) var session: ClientSession

    private var connection: WebSocketClientConnection?
    private var timer: LoopTimer?
    /// When the timer fires; it may be early, and then finds nothing due.
    private var armedFor: Duration?

    private var completions: [CommandTicket: Completion] = [:]
    private var nextTicket: CommandTicket = 1
    private struct Sink {
        let id: UInt64
        let yield: @Sendable (SoftphoneEvent) -> Void
        let finish: @Sendable () -> Void
    }
    private var sinks: [Sink] = []
    /// nil once the phone is gone, whose app may go with it.
    private var onEvent: Softphone.EventHandler?
    weak var phone: Softphone?

    /// A buffer that has grown beyond so many effects is not kept.
    private static let largestSpare = 64

    private var effects: [SessionEffect] = []
    private var isDraining = false
    private var isShutDown = false

    init(
        configuration: Softphone.Configuration, url: WebSocketURL, loop: EventLoop, runtime: LoopBound<RuntimeState>,
        onEvent: Softphone.EventHandler?
    ) {
        self.loop = loop
        self.runtime = runtime
        self.url = url
        self.onEvent = onEvent
        token = configuration.token
        session = ClientSession(configuration: configuration.session, seed: configuration.seed)
    }

    /// What `read` finds in the session, where it lies: a property's value is copied for whom it is asked, and a session
    /// holds much.
    private func inSession<Result>(_ read: (inout ClientSession) -> Result) -> Result { read(&session) }

    // MARK: In

    func take(_ input: SessionInput) { take(input, now: Self.now) }

    private func take(_ input: SessionInput, now: Duration) {
        guard !isShutDown else { return }
        borrowEffects()
        session.handle(input, now: now, effects: &effects)
        drain()
    }

    /// Hands `input`, made with a fresh ticket, to the session; `completion` gets what comes of it.
    func take(_ completion: @escaping Completion, _ input: (CommandTicket) -> SessionInput) {
        guard !isShutDown else { return completion(.failure(.closed)) }
        let ticket = nextTicket
        nextTicket += 1
        completions[ticket] = completion
        take(input(ticket))
    }

    /// - Parameter finish: called when no event can come any more.
    func addSink(
        id: UInt64, yield: @escaping @Sendable (SoftphoneEvent) -> Void, finish: @escaping @Sendable () -> Void
    ) {
        sinks.append(Sink(id: id, yield: yield, finish: finish))
    }

    func removeSink(id: UInt64) {
        sinks.removeAll { $0.id == id }
    }

    /// Lets go of everything that is bound to the loop, so that the rest may be released on any thread.
    func shutDown() {
        take(.abandoned)
        isShutDown = true
        onEvent = nil
        timer = nil
        connection = nil
        for sink in sinks { sink.finish() }
        sinks = []
    }

    var lastReceivedAge: Duration? { connection?.lastReceivedAge }

    // MARK: Out

    /// Does what the session wants, also what it comes to want meanwhile: effects call out, and the app may answer
    /// an event with a command at once.
    private func drain() {
        guard !isDraining else { return }
        isDraining = true
        var next = 0
        while next < effects.count {
            let effect = effects[next]
            next += 1
            perform(effect)
        }
        returnEffects()
        isDraining = false
        arm()
    }

    /// Takes the runtime's buffer, unless this phone has one in hand or another phone has it.
    private func borrowEffects() {
        if effects.capacity == 0 { swap(&effects, &runtime.value.spareEffects) }
    }

    private func returnEffects() {
        effects.removeAll(keepingCapacity: true)
        if effects.capacity <= Self.largestSpare { swap(&effects, &runtime.value.spareEffects) }
        // What another phone has put there meanwhile.
        effects = []
    }

    private func perform(_ effect: SessionEffect) {
        switch effect {
        case .fetchToken(let attempt): fetchToken(attempt: attempt)
        case .connect(let attempt): connect(attempt: attempt)
        case .send(let message): send(message)
        case .disconnect:
            let dropped = connection
            connection = nil
            dropped?.close(code: 1001, reason: "")
        case .complete(let ticket, let result): completions.removeValue(forKey: ticket)?(result)
        case .notify(let event):
            if let onEvent, let phone { onEvent(phone, event) }
            for sink in sinks { sink.yield(event) }
        }
    }

    private func fetchToken(attempt: UInt64) {
        switch token {
        case .fixed(let token): take(.tokenFetched(attempt: attempt, token: token))
        case .provider(let provide):
            let driver = LoopBound(self, on: loop)
            Task {
                do {
                    let token = try await provide()
                    driver.loop.execute { driver.value.take(.tokenFetched(attempt: attempt, token: token)) }
                } catch {
                    let reason = "\(error)"
                    driver.loop.execute { driver.value.take(.tokenFailed(attempt: attempt, reason: reason)) }
                }
            }
        }
    }

    private func connect(attempt: UInt64) {
        do {
            let context = try runtime.value.clientContext()
            // Strongly, as a weak reference costs for each message. The connection lets go of this driver with its last
            // event, which comes when the context is destroyed at the latest.
            connection = WebSocketClientConnection.connect(
                context: context, url: url, subprotocol: Softphone.subprotocol
            ) { [self] in happened($0, attempt: attempt) }
        } catch {
            take(.disconnected(attempt: attempt, code: nil, reason: "\(error)"))
        }
    }

    private func happened(_ event: WebSocketClientConnection.Event, attempt: UInt64) {
        switch event {
        case .opened: take(.connected(attempt: attempt))
        case .received(let bytes): received(bytes, attempt: attempt)
        case .closed(let code, let reason):
            ended(attempt: attempt, code: code, reason: reason.isEmpty ? "the connection was closed" : reason)
        case .failed(let failure): ended(attempt: attempt, code: nil, reason: failure.description)
        }
    }

    private func ended(attempt: UInt64, code: UInt16?, reason: String) {
        if attempt == session.attempt { connection = nil }
        take(.disconnected(attempt: attempt, code: code, reason: reason))
    }

    // MARK: Time

    private static let origin = ContinuousClock.now

    private static var now: Duration { origin.duration(to: .now) }

    private func arm() {
        guard !isShutDown, let deadline = inSession({ $0.nextDeadline }) else { return }
        // A timer that is early costs one look; setting it anew for each command would cost more.
        if let armedFor, armedFor <= deadline { return }
        armedFor = deadline
        let timer = self.timer ?? LoopTimer(loop: loop) { [weak self] in self?.timerFired() }
        self.timer = timer
        timer.start(after: max(.zero, deadline - Self.now))
    }

    private func timerFired() {
        armedFor = nil
        borrowEffects()
        session.handleTimeouts(now: Self.now, effects: &effects)
        drain()
    }

    // MARK: Frames

    private func received(_ bytes: UnsafeRawBufferPointer, attempt: UInt64) {
        guard !isShutDown else { return }
        borrowEffects()
        session.handle(frame: bytes, attempt: attempt, now: Self.now, effects: &effects)
        drain()
    }

    private func send(_ message: ClientMessage) {
        guard let connection else { return }
        // The connection keeps it until the loop's turn is over.
        if let frame = session.frame(of: message, now: Self.now, effects: &effects) { connection.send(frame) }
    }
}

@available(*, unavailable)
extension PhoneDriver: Sendable {}
