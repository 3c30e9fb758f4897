import CallVocabulary
import EventLoop
import LibWebSockets
import SoftphoneSession

/// Runs one ``ClientSession`` on a loop: passes events to it and performs its effects. On the loop's thread.
final class PhoneDriver {
    private let loop: EventLoop
    private let runtime: LoopBound<RuntimeState>
    private let url: WebSocketURL
    private let token: Softphone.TokenSource
    private(set) var session: ClientSession
    var receivers = SessionReceivers()

    private var connection: WebSocketClientConnection?
    private var timer: LoopTimer?
    /// When the timer fires; an early timer finds nothing due.
    private var armedFor: Duration?

    /// nil once the phone is released, so that the app can be released too.
    private var onEvent: Softphone.EventHandler?
    weak var phone: Softphone?

    /// The largest effect buffer that is kept for reuse.
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

    /// Reads the session in place: a property's value would be copied, and a session is large.
    private func inSession<Result>(_ read: (inout ClientSession) -> Result) -> Result { read(&session) }

    // MARK: In

    func take(_ input: SessionInput) { take(input, now: Self.now) }

    private func take(_ input: SessionInput, now: Duration) {
        guard !isShutDown else { return }
        borrowEffects()
        session.handle(input, now: now, effects: &effects)
        drain()
    }

    /// Passes `input`, made with a new ticket, to the session; `completion` gets the result.
    func take(_ completion: @escaping SessionReceivers.Completion, _ input: (CommandTicket) -> SessionInput) {
        guard !isShutDown else { return completion(.failure(.closed)) }
        take(input(receivers.ticket(completion)))
    }

    /// Releases everything that is bound to the loop, so that the rest can be released on any thread.
    func shutDown() {
        take(.abandoned)
        isShutDown = true
        onEvent = nil
        timer = nil
        connection = nil
        receivers.finishStreams()
    }

    var lastReceivedAge: Duration? { connection?.lastReceivedAge }

    // MARK: Out

    /// Performs the session's effects, including those added meanwhile: the app may answer an event with a command
    /// within its handler.
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

    /// Takes the runtime's buffer, unless this phone has one or another phone uses it.
    private func borrowEffects() {
        if effects.capacity == 0 { swap(&effects, &runtime.value.spareEffects) }
    }

    private func returnEffects() {
        effects.removeAll(keepingCapacity: true)
        if effects.capacity <= Self.largestSpare { swap(&effects, &runtime.value.spareEffects) }
        // Another phone may have left effects in it.
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
        case .complete(let ticket, let result): receivers.removeCompletion(of: ticket)?(result)
        case .notify(let event):
            if let onEvent, let phone { onEvent(phone, event) }
            for stream in receivers.streams { stream.yield(event) }
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
            // Captured strongly, because a weak capture costs for each message. The connection releases this driver
            // after its last event, at the latest when the context is destroyed.
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
        // An early timer costs one check; setting it again for each command would cost more.
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
        // The connection keeps the frame until the end of the loop's turn.
        if let frame = session.frame(of: message, now: Self.now, effects: &effects) { connection.send(frame) }
    }
}

@available(*, unavailable)
extension PhoneDriver: Sendable {}
