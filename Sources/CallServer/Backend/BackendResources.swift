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
    /// The most requests in progress on one shard, including requests that wait for a change. One token has at most half
    /// of them.
    static let mostQuestions = 1024
    /// The most exports on one shard that are read or wait for it, including those whose request has timed out. Likewise.
    /// Of one token one is read at a time.
    static let mostReads = 16
    /// How long an answer may take.
    static let standardPatience = Duration.seconds(10)
    /// Each request has a serial of its own, so that all can have the same id.
    private static let request = RequestID.number(0)

    typealias Respond = CallResources.Respond

    private struct Context {
        /// The name of the token.
        let token: String
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
    private let admission: CallAdmission
    private let clock: ServerClock
    private let log: Logger
    private let patience: Duration
    /// Their serials begin in the middle of the range: neither a WebSocket nor ``CallResources`` has such a serial.
    private let requests: OpenRequests<Context>
    /// The exports, by the names of their tokens. The first one of each is being read.
    private var reads: [String: [(export: BackendExport, serial: UInt64)]] = [:]

    init(
        shard: Int, loop: EventLoop, core: Mailbox<CoreInput>, services: BackendServices,
        admission: CallAdmission, clock: ServerClock, counters: SignalCounters, log: Logger,
        patience: Duration = BackendResources.standardPatience
    ) {
        self.shard = shard
        self.loop = loop
        self.core = core
        self.services = services
        self.admission = admission
        self.clock = clock
        self.log = log
        self.patience = patience
        requests = OpenRequests(
            atMost: Self.mostQuestions, from: .max / 2, loop: loop, clock: clock, counters: counters)
        requests.onOverdue = { [weak self] serial, request in self?.overdue(serial, request) }
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
            work = try asked.work(request, callSecret: services.callSecret)
        } catch {
            return respond(.refusal(error), nil)
        }
        switch work {
        case .core(let command, let wait):
            let context = Context(
                token: asked.token.name, followed: wait == nil ? nil : command.call, isKeyed: asked.isKeyed(request))
            guard let serial = begin(respond, within: wait ?? patience, context) else { return }
            if case .invite(let body) = command, let refusal = admission.refusal(for: serial, of: body.from) {
                requests.remove(serial)?.respond(.refusal(refusal), nil)
                return
            }
            if !core.post(.client(.backend(connection(serial), Self.request, command, asked.token.scope))) {
                lost(serial)
            }
        case .admin(let method, let params):
            guard let serial = begin(respond, within: patience, Context(token: asked.token.name)) else { return }
            administer(method, params, asked, request, serial)
        case .export(let export):
            let name = asked.token.name
            let (all, own) = (reads.values.reduce(0) { $0 + $1.count }, reads[name]?.count ?? 0)
            guard all < Self.mostReads, own < Self.mostReads / 2 else { return requests.turnAway(respond) }
            guard let serial = begin(respond, within: patience, Context(token: name)) else { return }
            reads[name, default: []].append((export, serial))
            if own == 0 { read(export, serial, of: name) }
        }
    }

    /// - Returns: the request's serial; nil when there are too many, of all tokens or of its own, and it was turned away.
    private func begin(_ respond: @escaping Respond, within patience: Duration, _ context: Context) -> UInt64? {
        guard !requests.isShareTaken(by: { $0.token == context.token }) else {
            requests.turnAway(respond)
            return nil
        }
        return requests.begin(respond, within: patience, context)
    }

    private func connection(_ serial: UInt64) -> ConnectionID { ConnectionID(shard: shard, serial: serial) }

    // MARK: Answers

    /// Handles the core's answer to a request, which may have timed out.
    func answered(_ serial: UInt64, _ message: ServerMessage) {
        guard let request = requests.remove(serial) else { return }
        switch message {
        case .reply(_, let reply): request.respond(.result(reply, now: clock.time()), nil)
        case .error(_, let error):
            var response = HTTPResponse.refusal(error)
            // draft-ietf-httpapi-idempotency-key-header, 2.7: the key was used with another body.
            if request.context.isKeyed, case .conflict = error.code { response.status = 422 }
            request.respond(response, nil)
        case .welcome, .event: preconditionFailure("a question is answered, and told nothing else")
        }
    }

    /// Handles a lost answer: this shard's mailbox was full.
    func lost(_ serial: UInt64) { requests.lost(serial) }

    private func administer(
        _ method: AdminMethod, _ params: [UInt8], _ asked: BackendHTTPRequest, _ request: HTTPRequest,
        _ serial: UInt64
    ) {
        let me = LoopBound(WeakResources(resources: self), on: loop)
        do throws(AdminError) {
            let question = try BackendQuestion(
                method, params: params, peer: request.peer, credential: "backend \(asked.token.name)",
                deadline: clock.now() + patience
            ) { answer in
                let response = HTTPResponse(answer, to: asked)
                me.loop.execute { me.value.resources?.finish(serial, response) }
            }
            if !services.ask(question) { lost(serial) }
        } catch {
            finish(serial, HTTPResponse(.failure(error), to: asked))
        }
    }

    private func read(_ export: BackendExport, _ serial: UInt64, of token: String) {
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
                me.value.resources?.finishRead(serial, response, of: token)
            }
        }
    }

    private func finishRead(_ serial: UInt64, _ response: HTTPResponse, of token: String) {
        finish(serial, response)
        reads[token]?.removeFirst()
        while let next = reads[token]?.first {
            if requests[next.serial] != nil { return read(next.export, next.serial, of: token) }
            // Its time was over before its turn.
            reads[token]?.removeFirst()
        }
        reads[token] = nil
    }

    private func finish(_ serial: UInt64, _ response: HTTPResponse) {
        requests.remove(serial)?.respond(response, nil)
    }

    /// A request that waits for a change is told that there is none.
    private func overdue(_ serial: UInt64, _ request: OpenRequests<Context>.Request) {
        guard let call = request.context.followed else { return requests.turnAway(request.respond) }
        // Posted unconditionally: there is one for each request.
        core.postAlways(.client(.backend(connection(serial), Self.request, .unfollow(call), BackendScope())))
        request.respond(.unchanged, nil)
    }
}

@available(*, unavailable)
extension BackendResources: Sendable {}

extension HTTPResponse {
    /// A followed call has not changed.
    fileprivate static var unchanged: HTTPResponse {
        HTTPResponse(status: 204, contentType: "", headers: [("Cache-Control", "no-store")])
    }

    fileprivate init(_ answer: BackendQuestion.Answer, to asked: BackendHTTPRequest) {
        switch answer {
        case .success(let json):
            if let refusal = asked.refusal(of: json) {
                self = refusal.response
                return
            }
            self = .json(json)
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
