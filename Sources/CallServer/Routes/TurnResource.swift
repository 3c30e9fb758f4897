import CallCore
import CallVocabulary
import LibWebSockets
import SignalProtocol

/// Answers `GET /v1/turn` with new TURN credentials, for a client whose credentials are about to expire. Confined to the
/// shard's loop.
final class TurnResource {
    static let path = "/v1/turn"
    private static let methods: [HTTPRequest.Method] = [.get, .head]

    private let credentials: TurnCredentials
    private let tokens: TokenChecker
    private let clock: ServerClock
    /// Token checks in progress; at most ``CallResources/mostQuestions``.
    private var checks = 0

    init(_ credentials: TurnCredentials, tokens: TokenChecker, clock: ServerClock) {
        self.credentials = credentials
        self.tokens = tokens
        self.clock = clock
    }

    /// Answers through `respond`, at once or later.
    func ask(_ request: HTTPRequest, respond: @escaping CallResources.Respond) {
        switch CallResources.token(of: request, methods: Self.methods) {
        case .failure(let refusal): respond(refusal.response, nil)
        case .success(let token):
            guard checks < CallResources.mostQuestions else {
                return respond(.refusal(SignalError(.overloaded(retryAfter: .seconds(1)), "The server is busy.")), nil)
            }
            checks += 1
            tokens.check(token, from: request.network) { [weak self] in
                guard let self else { return }
                checks -= 1
                switch $0 {
                case .failure(let refusal): respond(CallResources.refusal(of: refusal), nil)
                case .success(let verified): respond(response(for: verified.grant.user), verified.grant.user)
                }
            }
        }
    }

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
