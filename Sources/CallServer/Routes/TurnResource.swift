import CallCore
import CallVocabulary
import EventLoop
import LibWebSockets
import SignalProtocol

/// Answers `GET /v1/turn` with new TURN credentials, for a client whose credentials are about to expire. The core
/// checks whether the token is revoked. Confined to the shard's loop.
final class TurnResource {
    static let path = "/v1/turn"
    private static let methods: [HTTPRequest.Method] = [.get, .head]
    private static let request = RequestID.number(0)

    private let credentials: TurnCredentials
    private let shard: Int
    private let core: Mailbox<CoreInput>
    private let tokens: TokenChecker
    private let clock: ServerClock
    private let spend: (Handle) -> Duration?
    /// The context is the user of the token; nil while the token is being checked. The serials are in the fourth
    /// quarter of the range, which no WebSocket and no other resource uses.
    private let requests: OpenRequests<Handle?>

    /// - Parameter spend: as for ``CallResources``.
    init(
        _ credentials: TurnCredentials, shard: Int, loop: EventLoop, core: Mailbox<CoreInput>, tokens: TokenChecker,
        clock: ServerClock, counters: SignalCounters, spend: @escaping (Handle) -> Duration?
    ) {
        self.credentials = credentials
        self.shard = shard
        self.core = core
        self.tokens = tokens
        self.clock = clock
        self.spend = spend
        requests = OpenRequests(
            atMost: CallResources.mostQuestions, from: .max / 4 * 3, loop: loop, clock: clock, counters: counters)
    }

    /// Answers through `respond`, at once or later, exactly once.
    func ask(_ request: HTTPRequest, respond: @escaping CallResources.Respond) {
        switch CallResources.token(of: request, methods: Self.methods) {
        case .failure(let refusal): respond(refusal.response, nil)
        case .success(let token):
            guard let serial = requests.begin(respond, within: CallResources.standardPatience, nil) else { return }
            tokens.check(token, from: request.network) { [weak self] in self?.checked($0, serial) }
        }
    }

    private func checked(_ result: TokenChecker.Result, _ serial: UInt64) {
        switch result {
        case .failure(let refusal): requests.remove(serial)?.respond(CallResources.refusal(of: refusal), nil)
        case .success(let verified):
            guard let respond = requests[serial]?.respond else { return }
            if let wait = spend(verified.grant.user) {
                requests[serial] = nil
                return respond(.refusal(.tooManyRequests(wait)), verified.grant.user)
            }
            guard requests.note(verified.grant.user, of: serial) else { return }
            let connection = ConnectionID(shard: shard, serial: serial)
            if !core.post(.client(.tokenShown(connection, Self.request, verified.grant, verified.device))) {
                lost(serial)
            }
        }
    }

    /// Handles the core's answer. The request may have timed out.
    func answered(_ serial: UInt64, _ message: ServerMessage) {
        guard let request = requests.remove(serial), let user = request.context else { return }
        switch message {
        case .reply: request.respond(response(for: user), user)
        case .error(_, let error): request.respond(.refusal(error), user)
        case .welcome, .event: preconditionFailure("a question is answered, and told nothing else")
        }
    }

    /// Handles a lost answer: a mailbox was full.
    func lost(_ serial: UInt64) { requests.lost(serial) }

    private func response(for user: Handle) -> HTTPResponse {
        let servers = credentials.servers(for: user)
        guard !servers.isEmpty else {
            return .refusal(SignalError(.notFound, "This server has no TURN servers (turn.urls)."))
        }
        return .iceServers(servers, now: clock.time())
    }
}

@available(*, unavailable)
extension TurnResource: Sendable {}
