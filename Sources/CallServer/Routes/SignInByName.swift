import CallVocabulary
import EventLoop
import Foundation
import LibWebSockets
import SignalProtocol

/// Answers `POST /phone/token` with a token for any user, so that the softphone of a server on the same machine can be
/// tried without a backend. Off unless ``ServerConfiguration/signsInByName`` is set.
///
/// A request through a proxy, or from a page of another server, is refused: neither may impersonate users.
struct SignInByName: Sendable {
    static let path = "/phone/token"
    /// The names of this machine. Another name may be an attacker's that leads to a loopback address.
    private static let hosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]
    private static let lifetime = Duration.seconds(24 * 3600)

    private let isEnabled: Bool
    private let tokens: TokenAuthority

    init(isEnabled: Bool, tokens: TokenAuthority) {
        self.isEnabled = isEnabled
        self.tokens = tokens
    }

    /// Whether the request comes from this machine: from a page of this server, or from no page.
    private func isAllowed(_ request: HTTPRequest) -> Bool {
        isEnabled && request.peer.isLocal && !request.isForwarded && request.isOfSameOrigin
            && request.host.map { Self.hosts.contains(Self.name(of: $0)) } == true
    }

    /// The name in a `Host` header, without its port.
    private static func name(of host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
        return host.prefix { $0 != ":" }.lowercased()
    }

    func answer(_ request: HTTPRequest, on loop: EventLoop, respond: @escaping CallResources.Respond) {
        do throws(SignalError) {
            guard isAllowed(request) else {
                throw SignalError(
                    .forbidden,
                    "Sign in with a token. A server started with --sign-in-by-name (web.sign_in_by_name) signs users in by "
                        + "name, on its own machine.")
            }
            guard request.method == .post else {
                throw SignalError(.methodNotFound, "This resource knows POST only.")
            }
            try request.expectJSON()
            let user = try Self.user(of: request.body)
            let respond = LoopBound(respond, on: loop)
            Task { [tokens] in
                let token = try? await tokens.mint(user: user, lifetime: Self.lifetime)
                loop.execute { respond.value(Self.response(token), nil) }
            }
        } catch {
            respond(.refusal(error), nil)
        }
    }

    private struct Body: Decodable {
        let user: String
    }

    private static func user(of body: [UInt8]) throws(SignalError) -> Handle {
        guard ForeignText.areComparable(inJSON: body),
            let body = try? JSONDecoder().decode(Body.self, from: Data(body)), let user = Handle(body.user)
        else {
            throw SignalError(.invalidParams, "user: expected the name of a user, as in {\"user\":\"alice\"}")
        }
        return user
    }

    private static func response(_ token: String?) -> HTTPResponse {
        guard let token, let body = try? JSONEncoder().encode(["token": token]) else {
            return .refusal(SignalError(.internalError, "The token could not be made."))
        }
        var response = HTTPResponse.json(Array(body))
        response.headers = [("Cache-Control", "no-store")]
        return response
    }
}
