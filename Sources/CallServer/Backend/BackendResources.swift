import AdminProtocol
import AdminServer
import CallCore
import CallVocabulary
import EventLoop
import LibWebSockets
import Logging

/// Answers the requests of backends below `/v1/backend`.
///
/// ```
/// asked ─▶ core, administration or store at work ─▶ answered
///   └── refused by its head                  └── 503 when it takes too long; 204 for a call that did not change
/// ```
/// One for each shard, confined to its loop. Requests in progress are bounded in number and in time, even after their
/// clients have disconnected. A request that waits for a change takes no thread.
final class BackendResources {
    /// The most requests in progress on one shard, including requests that wait for a change.
    static let mostQuestions = 1024
    /// The most reads for exports on one shard, including reads whose request has timed out.
    static let mostReads = 16
    /// How long an answer may take.
    static let standardPatience = Duration.seconds(10)
    private static let retryAfter = Duration.seconds(1)
    /// Each request has a serial of its own, so that all can have the same id.
    private static let request = RequestID.number(0)

    typealias Respond = (HTTPResponse, Handle?) -> Void

    private struct Question {
        let deadline: Instant
        let respond: Respond
        /// The call of a request that waits for its change.
        var followed: CallID?
        /// Whether the call's id comes from an `Idempotency-Key`.
        var isKeyed = false
    }

    /// A weak reference for other threads.
    private struct WeakResources {
        weak var resources: BackendResources?
    }

    private let shard: Int
    private let loop: EventLoop
    private let core: Mailbox<CoreInput>
    private let services: BackendServices
    private let clock: ServerClock
    private let counters: SignalCounters
    private let log: Logger
    private let patience: Duration
    private var questions: [UInt64: Question] = [:]
    private var reads = 0
    /// Counts down from the middle of the range: neither a WebSocket nor ``CallResources`` has such a serial.
    private var lastSerial = UInt64.max / 2
    private var timer: LoopTimer?
    /// When the timer fires; nil while it does not run.
    private var due: Instant?

    init(
        shard: Int, loop: EventLoop, core: Mailbox<CoreInput>, services: BackendServices, clock: ServerClock,
        counters: SignalCounters, log: Logger, patience: Duration = BackendResources.standardPatience
    ) {
        self.shard = shard
        self.loop = loop
        self.core = core
        self.services = services
        self.clock = clock
        self.counters = counters
        self.log = log
        self.patience = patience
        timer = LoopTimer(loop: loop) { [weak self] in self?.giveUpOverdue() }
    }

    /// Refuses a request by its head, before its body has arrived.
    func examine(_ request: HTTPRequest, respond: @escaping Respond) {
        do throws(BackendRefusal) {
            _ = try BackendHTTPRequest(request, services.tokens)
        } catch {
            respond(error.response, nil)
        }
    }

    /// Answers through `respond`, at once or later, exactly once. The client may have disconnected by then.
    func ask(_ request: HTTPRequest, respond: @escaping Respond) {
        let asked: BackendHTTPRequest
        do throws(BackendRefusal) {
            asked = try BackendHTTPRequest(request, services.tokens)
        } catch {
            return respond(error.response, nil)
        }
        let work: BackendHTTPRequest.Work
        do throws(SignalError) {
            work = try asked.work(request)
        } catch {
            return respond(.refusal(error), nil)
        }
        guard questions.count < Self.mostQuestions else { return turnAway(respond) }
        let serial = lastSerial
        lastSerial -= 1
        switch work {
        case .core(let command, let wait):
            var question = Question(deadline: clock.now() + (wait ?? patience), respond: respond)
            if wait != nil { question.followed = command.call }
            question.isKeyed = asked.isKeyed(request)
            begin(question, serial)
            if !core.post(.client(.backend(connection(serial), Self.request, command, asked.token.scope))) {
                lost(serial)
            }
        case .admin(let method, let params):
            begin(Question(deadline: clock.now() + patience, respond: respond), serial)
            administer(method, params, asked.token, request, serial)
        case .export(let export):
            guard reads < Self.mostReads else { return turnAway(respond) }
            begin(Question(deadline: clock.now() + patience, respond: respond), serial)
            read(export, serial)
        }
    }

    private func connection(_ serial: UInt64) -> ConnectionID { ConnectionID(shard: shard, serial: serial) }

    private func begin(_ question: Question, _ serial: UInt64) {
        questions[serial] = question
        guard due.map({ question.deadline < $0 }) ?? true else { return }
        setTimer(at: question.deadline)
    }

    // MARK: Answers

    /// Handles the core's answer to a request, which may have timed out.
    func answered(_ serial: UInt64, _ message: ServerMessage) {
        guard let question = questions.removeValue(forKey: serial) else { return }
        switch message {
        case .reply(_, let reply): question.respond(.result(reply, now: clock.time()), nil)
        case .error(_, let error):
            var response = HTTPResponse.refusal(error)
            // draft-ietf-httpapi-idempotency-key-header, 2.7: the key was used with another body.
            if question.isKeyed, case .conflict = error.code { response.status = 422 }
            question.respond(response, nil)
        case .welcome, .event: preconditionFailure("a question is answered, and told nothing else")
        }
    }

    /// Handles a lost answer: this shard's mailbox was full.
    func lost(_ serial: UInt64) {
        if let question = questions.removeValue(forKey: serial) { turnAway(question.respond) }
    }

    private func administer(
        _ method: AdminMethod, _ params: [UInt8], _ token: BackendToken, _ request: HTTPRequest, _ serial: UInt64
    ) {
        let me = LoopBound(WeakResources(resources: self), on: loop)
        do throws(AdminError) {
            let question = try BackendQuestion(
                method, params: params, peer: request.peer, credential: "backend \(token.name)"
            ) { answer in
                me.loop.execute { me.value.resources?.finish(serial, HTTPResponse(answer)) }
            }
            if !services.ask(question) { lost(serial) }
        } catch {
            finish(serial, HTTPResponse(.failure(error)))
        }
    }

    private func read(_ export: BackendExport, _ serial: UInt64) {
        reads += 1
        let me = LoopBound(WeakResources(resources: self), on: loop)
        Task { [services, log] in
            let response: HTTPResponse
            do {
                response = try await services.export(export)
            } catch {
                log.error("the store cannot be read", metadata: ["error": .string("\(error)")])
                response = .refusal(SignalError(.internalError, "The store cannot be read: \(error)"))
            }
            me.loop.execute {
                me.value.resources?.reads -= 1
                me.value.resources?.finish(serial, response)
            }
        }
    }

    private func finish(_ serial: UInt64, _ response: HTTPResponse) {
        questions.removeValue(forKey: serial)?.respond(response, nil)
    }

    private func turnAway(_ respond: Respond) {
        counters.countUnansweredQuestion()
        respond(
            .refusal(SignalError(.overloaded(retryAfter: Self.retryAfter), "The server is busy; try again shortly.")),
            nil)
    }

    // MARK: Time

    private func setTimer(at deadline: Instant) {
        due = deadline
        timer?.start(after: max(.zero, deadline - clock.now()))
    }

    private func giveUpOverdue() {
        due = nil
        let now = clock.now()
        for (serial, question) in questions where question.deadline <= now {
            questions[serial] = nil
            guard let call = question.followed else {
                turnAway(question.respond)
                continue
            }
            // Posted unconditionally: there is one for each request.
            core.postAlways(.client(.backend(connection(serial), Self.request, .unfollow(call), BackendScope())))
            question.respond(.unchanged, nil)
        }
        if let next = questions.values.map(\.deadline).min() { setTimer(at: next) }
    }
}

@available(*, unavailable)
extension BackendResources: Sendable {}

extension HTTPResponse {
    /// A followed call has not changed.
    fileprivate static var unchanged: HTTPResponse {
        HTTPResponse(status: 204, contentType: "", headers: [("Cache-Control", "no-store")])
    }

    fileprivate init(_ answer: BackendQuestion.Answer) {
        switch answer {
        case .success(let json): self = .json(json)
        case .failure(let error): self = .json(AdminFrameWriter.json(error), status: error.httpStatus)
        }
        headers = [("Cache-Control", "no-store")]
        if status == 503 { headers.append(("Retry-After", "1")) }
    }
}

extension AdminError {
    fileprivate var httpStatus: Int {
        switch name {
        case "parse_error", "invalid_request", "invalid_params": 400
        case "not_found", "method_not_found": 404
        case "conflict": 409
        case "too_large": 413
        case "limit_reached": 429
        case "overloaded": 503
        default: 500
        }
    }
}
