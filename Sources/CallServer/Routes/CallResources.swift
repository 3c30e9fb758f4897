import CallCore
import CallVocabulary
import ClientTokens
import EventLoop
import LibWebSockets

/// Answers `GET /v1/calls/{call_id}`, `POST /v1/calls/{call_id}/{action}` and `POST /v1/pushes/{push_id}/report`, for a
/// phone without a WebSocket.
///
/// ```
/// asked ─▶ token being checked ─▶ core at work ─▶ answered
///   └── refused at once      └── 401        └── 503 when it takes too long
/// ```
/// One for each shard, confined to its loop. Requests in progress are bounded in number and in time, even after their
/// clients have disconnected.
final class CallResources {
    /// The most requests in progress; further ones are told to retry.
    static let mostQuestions = 256
    /// How long the core may take. The phone has a few seconds in the background, and asks again.
    static let standardPatience = Duration.seconds(10)
    /// Each request has a serial of its own, so that all can have the same id.
    private static let request = RequestID.number(0)

    /// The context is the user of the token; nil while it is being checked.
    private typealias Requests = OpenRequests<Handle?>
    typealias Respond = OpenRequests<Handle?>.Respond

    private let shard: Int
    private let loop: EventLoop
    private let core: Mailbox<CoreInput>
    private let tokens: TokenChecker
    private let clock: ServerClock
    private let patience: Duration
    private let spend: (Handle) -> Duration?
    private let requests: Requests
    /// Token checks of requests whose body has not arrived.
    private var checks = 0

    /// - Parameter spend: counts a request for the user of its token. Returns the time to wait beyond the user's rate.
    init(
        shard: Int, loop: EventLoop, core: Mailbox<CoreInput>, tokens: TokenChecker, clock: ServerClock,
        counters: SignalCounters, patience: Duration = CallResources.standardPatience,
        spend: @escaping (Handle) -> Duration? = { _ in nil }
    ) {
        self.shard = shard
        self.loop = loop
        self.core = core
        self.tokens = tokens
        self.clock = clock
        self.patience = patience
        self.spend = spend
        requests = OpenRequests(
            atMost: Self.mostQuestions, from: .max, loop: loop, clock: clock, counters: counters)
    }

    /// Refuses a request by its head, before its body has arrived: a wrong method, a missing or invalid token.
    func examine(_ resource: CallResource, _ request: HTTPRequest, respond: @escaping Respond) {
        switch Self.token(of: request, methods: resource.methods) {
        case .failure(let refusal): respond(refusal.response, nil)
        case .success(let token):
            guard checks < Self.mostQuestions else { return requests.turnAway(respond) }
            checks += 1
            tokens.check(token, from: request.network) { [weak self] in
                self?.checks -= 1
                if case .failure(let refusal) = $0 { respond(Self.refusal(of: refusal), nil) }
            }
        }
    }

    /// Answers through `respond`, at once or later, exactly once. The client may have disconnected by then.
    func ask(_ resource: CallResource, _ request: HTTPRequest, respond: @escaping Respond) {
        let token: String
        switch Self.token(of: request, methods: resource.methods) {
        case .failure(let refusal): return respond(refusal.response, nil)
        case .success(let shown): token = shown
        }
        let question: CallResource.Question
        do throws(SignalError) {
            question = try resource.question(request)
        } catch {
            return respond(.refusal(error), nil)
        }
        guard let serial = requests.begin(respond, within: patience, nil) else { return }
        tokens.check(token, from: request.network) { [weak self] in self?.checked($0, question, serial) }
    }

    struct Refused: Error {
        let response: HTTPResponse
    }

    /// The token of a request with one of the methods.
    static func token(of request: HTTPRequest, methods: [HTTPRequest.Method]) -> Result<String, Refused> {
        guard methods.contains(request.method) else {
            let allowed = methods.map(\.rawValue).joined(separator: ", ")
            return .failure(
                Refused(
                    response: .refusal(
                        SignalError(.methodNotFound, "This resource knows \(allowed) only."),
                        headers: [("Allow", allowed)])))
        }
        guard let token = request.bearerToken else {
            return .failure(
                Refused(
                    response: .refusal(
                        SignalError(
                            .unauthenticated, "Send the push's wake token or a user token: Authorization: Bearer."),
                        headers: [("WWW-Authenticate", "Bearer")])))
        }
        return .success(token)
    }

    static func refusal(of failure: TokenChecker.Failure) -> HTTPResponse {
        switch failure {
        case .refused(let refusal): .refusal(SignalError(.unauthenticated, refusal.message))
        case .tooMany(let wait): .refusal(.tooManyFailedTokens(wait))
        case .unsettled(let wait): .refusal(.tokenKeyUnknown(wait))
        }
    }

    /// Handles the core's answer to a request, which may have timed out.
    func answered(_ serial: UInt64, _ message: ServerMessage) {
        guard let request = requests.remove(serial) else { return }
        switch message {
        case .reply(_, let reply): request.respond(.result(reply, now: clock.time()), request.context)
        case .error(_, let error): request.respond(.refusal(error), request.context)
        case .welcome, .event: preconditionFailure("a question is answered, and told nothing else")
        }
    }

    /// Handles a lost answer: this shard's mailbox was full.
    func lost(_ serial: UInt64) { requests.lost(serial) }

    // MARK: Tokens

    private func checked(
        _ result: TokenChecker.Result, _ question: CallResource.Question, _ serial: UInt64
    ) {
        guard let respond = requests[serial]?.respond else { return }
        switch result {
        case .failure(let refusal):
            requests[serial] = nil
            respond(Self.refusal(of: refusal), nil)
        case .success(let verified):
            if let bound = verified.device, let named = question.device, bound != named {
                requests[serial] = nil
                return respond(
                    .refusal(SignalError(.unauthenticated, "The token is for another device: \(bound).")),
                    verified.grant.user)
            }
            if let wait = spend(verified.grant.user) {
                requests[serial] = nil
                return respond(.refusal(.tooManyRequests(wait)), verified.grant.user)
            }
            guard requests.note(verified.grant.user, of: serial) else { return }
            let connection = ConnectionID(shard: shard, serial: serial)
            let device = verified.device ?? question.device
            if !core.post(.client(.asked(connection, Self.request, question.command, verified.grant, device))) {
                lost(serial)
            }
        }
    }
}

@available(*, unavailable)
extension CallResources: Sendable {}
