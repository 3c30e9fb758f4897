import CallVocabulary
import EventLoop
import LibWebSockets
import SignalProtocol
import WebSocketServer

/// The HTTP resources of one shard: calls and TURN for phones, the API for backends, and what all servers have. Confined
/// to the shard's loop.
final class ShardResources {
    private let environment: SignalShard.Environment
    private let calls: CallResources
    private let backends: BackendResources
    private let turn: TurnResource
    private let signIn: SignInByName
    private var pages = PageRateLimiter<(request: HTTPRequest, responder: HTTPResponder)>()
    private var pageTimer: LoopTimer?
    private let trace: SessionTrace

    init(
        _ environment: SignalShard.Environment, tokens: TokenChecker, trace: SessionTrace, admission: CallAdmission
    ) {
        self.environment = environment
        self.trace = trace
        let spend = { (user: Handle) in environment.wait(.messagesPerUser, RateLimiter.Key(user)) }
        calls = CallResources(
            shard: environment.shard, loop: environment.loop, core: environment.core, tokens: tokens,
            clock: environment.clock, counters: environment.counters, spend: spend)
        backends = BackendResources(
            shard: environment.shard, loop: environment.loop, core: environment.core, services: environment.backends,
            admission: admission, clock: environment.clock, counters: environment.counters, log: environment.log)
        turn = TurnResource(
            environment.turn, shard: environment.shard, loop: environment.loop, core: environment.core, tokens: tokens,
            clock: environment.clock, counters: environment.counters, spend: spend)
        signIn = SignInByName(secret: environment.signInSecret, tokens: environment.tokens)
        pageTimer = LoopTimer(loop: environment.loop) { [weak self] in self?.serveWaitingPages() }
    }

    /// Refuses a request by its head. A request without a body is answered.
    func began(_ request: HTTPRequest, _ responder: HTTPResponder) {
        if BackendRoute.isBackend(path: request.path) {
            let respond = respond(to: request, responder)
            if let refusal = rateRefusal(ofBackend: request) { return respond(refusal, nil) }
            backends.examine(request, respond: respond)
        } else if let resource = CallResource(path: request.path) {
            let respond = respond(to: request, responder)
            if let refusal = rateRefusal(of: request) { return respond(refusal, nil) }
            calls.examine(resource, request, respond: respond)
        } else if request.path != SignInByName.path || signIn.refuses(request) {
            // These routes do not use the body.
            answer(request, responder)
        }
    }

    func answer(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let respond = respond(to: request, responder)
        if BackendRoute.isBackend(path: request.path) {
            if let refusal = rateRefusal(ofBackend: request) { return respond(refusal, nil) }
            return backends.ask(request, respond: respond)
        }
        let resource = CallResource(path: request.path)
        // A call's request whose head came first was counted by `began`.
        if resource == nil || !request.wasExamined, let refusal = rateRefusal(of: request) {
            return respond(refusal, nil)
        }
        guard resource != nil || request.path == TurnResource.path else {
            if request.path.hasPrefix("/v1/") {
                return respond(.refusal(SignalError(.notFound, "There is no such resource.")), nil)
            }
            if request.path == SignInByName.path {
                return signIn.answer(request, on: environment.loop, respond: respond)
            }
            return HTTPRoutes.alwaysServed.contains(request.path)
                ? serve(request, responder) : servePage(request, responder, respond)
        }
        if let resource {
            calls.ask(resource, request, respond: respond)
        } else {
            turn.ask(request, respond: respond)
        }
    }

    /// Counts a request against the limit of its address. Health checks count apart from its other requests, so that
    /// neither are refused because of the others.
    /// - Returns: the refusal of one beyond the limit.
    func rateRefusal(of request: HTTPRequest) -> HTTPResponse? {
        guard let network = request.network else { return nil }
        let isCheck = HTTPRoutes.alwaysServed.contains(request.path)
        guard let wait = environment.wait(.requestsPerAddress, networks: network, apart: isCheck) else { return nil }
        return .refusal(
            SignalError(.rateLimited(retryAfter: wait), "Too many requests from your address; try again later."))
    }

    /// As above, for a request below the path of backends; a backend's token has no limit. An unknown one counts as a
    /// refused token, too.
    private func rateRefusal(ofBackend request: HTTPRequest) -> HTTPResponse? {
        let token = request.bearerToken
        if let token, environment.backends.tokens.find(token) != nil { return nil }
        if let refusal = rateRefusal(of: request) { return refusal }
        guard token != nil, let network = request.network else { return nil }
        let failures = environment.rates[.failedTokensPerAddress]
        let now = Int64(environment.loop.milliseconds)
        if let wait = failures.wait(networks: network, now: now) {
            return .refusal(.tooManyFailedTokens(failures.spread(wait)))
        }
        failures.charge(networks: network, now: now)
        return nil
    }

    private func serve(_ request: HTTPRequest, _ responder: HTTPResponder) {
        environment.routes.answer(request, to: .client, LoopBound(responder, on: environment.loop))
    }

    private func servePage(_ request: HTTPRequest, _ responder: HTTPResponder, _ respond: CallResources.Respond) {
        if pages.isFull { pageTimer?.start(after: PageRates.interval) }
        switch pages.admit((request, responder)) {
        case .now: serve(request, responder)
        case .later: break
        case .refused:
            let words = "The server has too many requests for pages; try again later."
            respond(.refusal(SignalError(.overloaded(retryAfter: PageRates.retryAfter), words)), nil)
        }
    }

    private func serveWaitingPages() {
        let due = pages.refill { $0.responder.isAwaited }
        if !pages.isFull { pageTimer?.start(after: PageRates.interval) }
        for (request, responder) in due { serve(request, responder) }
    }

    private func respond(to request: HTTPRequest, _ responder: HTTPResponder) -> CallResources.Respond {
        { [trace] response, user in
            trace.answered(request, response, user: user)
            responder.respond(response)
        }
    }

    /// The core's answer to a request of the resources. Serials of others are ignored.
    func answered(_ serial: UInt64, _ message: ServerMessage) {
        calls.answered(serial, message)
        backends.answered(serial, message)
        turn.answered(serial, message)
    }

    /// The shard's mailbox had no room for the core's answer.
    func lost(_ serial: UInt64) {
        calls.lost(serial)
        backends.lost(serial)
        turn.lost(serial)
    }
}

@available(*, unavailable)
extension ShardResources: Sendable {}
