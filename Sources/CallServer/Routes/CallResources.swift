import CallCore
import CallVocabulary
import EventLoop
import LibWebSockets

/// Answers `GET /v1/calls/{call_id}` and `POST /v1/pushes/{push_id}/report`, for a phone whose socket is not up.
///
/// ```
/// asked ─▶ token being checked ─▶ core at work ─▶ answered
///   └── refused at once      └── 401        └── 503 when it takes too long
/// ```
/// One for each shard, confined to its loop. What is under way is bounded in number and in time, whoever has gone away
/// meanwhile.
final class CallResources {
    /// Questions under way at most; those beyond are told to come back.
    static let mostQuestions = 256
    /// How long the core may take. The phone has a few seconds in the background, and asks again.
    static let standardPatience = Duration.seconds(10)
    /// When to come back, for a client that the server had no room for.
    private static let retryAfter = Duration.seconds(1)
    /// One connection carries one question, so that its answer needs no name of its own.
    private static let request = RequestID.number(0)

    typealias Respond = (HTTPResponse) -> Void

    private struct Question {
        let deadline: Instant
        let respond: Respond
    }

    private let shard: Int
    private let loop: EventLoop
    private let core: Mailbox<CoreInput>
    private let tokens: TokenChecker
    private let clock: ServerClock
    private let counters: SignalCounters
    private let patience: Duration
    private var questions: [UInt64: Question] = [:]
    /// The listener counts its WebSockets up from 1; these count down from the top, and never meet them.
    private var lastSerial = UInt64.max
    private var timer: LoopTimer?
    private var isTimerSet = false

    init(
        shard: Int, loop: EventLoop, core: Mailbox<CoreInput>, tokens: TokenChecker, clock: ServerClock,
        counters: SignalCounters, patience: Duration = CallResources.standardPatience
    ) {
        self.shard = shard
        self.loop = loop
        self.core = core
        self.tokens = tokens
        self.clock = clock
        self.counters = counters
        self.patience = patience
        timer = LoopTimer(loop: loop) { [weak self] in self?.giveUpOverdue() }
    }

    /// Answers through `respond`, now or later, once. It may be of no effect by then: the client has gone.
    func ask(_ resource: CallResource, _ request: HTTPRequest, respond: @escaping Respond) {
        guard resource.methods.contains(request.method) else {
            let allowed = resource.methods.map(\.rawValue).joined(separator: ", ")
            return respond(
                .refusal(
                    SignalError(.methodNotFound, "This resource knows \(allowed) only."),
                    headers: [("Allow", allowed)]))
        }
        guard let token = request.bearerToken else {
            return respond(
                .refusal(
                    SignalError(.unauthenticated, "Send the push's wake token or a user token: Authorization: Bearer."),
                    headers: [("WWW-Authenticate", "Bearer")]))
        }
        let question: SessionlessRequest
        do throws(SignalError) {
            question = try resource.question(request)
        } catch {
            return respond(.refusal(error))
        }
        guard questions.count < Self.mostQuestions else { return turnAway(respond) }
        let serial = lastSerial
        lastSerial -= 1
        questions[serial] = Question(deadline: clock.now() + patience, respond: respond)
        if !isTimerSet { setTimer(after: patience) }
        tokens.check(token) { [weak self] in self?.checked($0, question, serial) }
    }

    /// The core's answer to a question, which may have been given up.
    func answered(_ serial: UInt64, _ message: ServerMessage) {
        guard let question = questions.removeValue(forKey: serial) else { return }
        switch message {
        case .reply(_, let reply): question.respond(.result(reply, now: clock.now()))
        case .error(_, let error): question.respond(.refusal(error))
        case .welcome, .event: preconditionFailure("a question is answered, and told nothing else")
        }
    }

    /// Its answer is lost: this shard was too far behind for it.
    func lost(_ serial: UInt64) {
        if let question = questions.removeValue(forKey: serial) { turnAway(question.respond) }
    }

    // MARK: Tokens

    private func checked(
        _ result: TokenChecker.Result, _ question: SessionlessRequest, _ serial: UInt64
    ) {
        guard let respond = questions[serial]?.respond else { return }
        switch result {
        case .failure(let refusal):
            questions[serial] = nil
            respond(
                .refusal(
                    SignalError(.unauthenticated, refusal.message),
                    // RFC 6750, 3.1.
                    headers: [("WWW-Authenticate", "Bearer error=\"invalid_token\"")]))
        case .success(let verified):
            let connection = ConnectionID(shard: shard, serial: serial)
            if !core.post(.asked(connection, Self.request, question, verified.grant, verified.device)) { lost(serial) }
        }
    }

    // MARK: Time

    private func setTimer(after delay: Duration) {
        isTimerSet = true
        timer?.start(after: delay)
    }

    private func giveUpOverdue() {
        isTimerSet = false
        let now = clock.now()
        for (serial, question) in questions where question.deadline <= now {
            questions[serial] = nil
            turnAway(question.respond)
        }
        if let next = questions.values.map(\.deadline).min() { setTimer(after: next - now) }
    }

    private func turnAway(_ respond: Respond) {
        counters.countUnansweredQuestion()
        respond(
            .refusal(SignalError(.overloaded(retryAfter: Self.retryAfter), "The server is busy; try again shortly.")))
    }
}

@available(*, unavailable)
extension CallResources: Sendable {}
