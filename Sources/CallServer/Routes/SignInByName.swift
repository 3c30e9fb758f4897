import CallVocabulary
import EventLoop
import Foundation
import LibWebSockets
import SignalProtocol
import WireJSON

/// Answers `POST /phone/token` with a token for any user, so that the softphone of a server on the same machine can be
/// tried without a backend. Off unless ``ServerConfiguration/signsInByName`` is set.
///
/// A request needs the secret of ``secretFile``, which is in the address that the start logs: a loopback address says
/// nothing about the user, who may be another one of the machine, or come through a proxy that names no client. A request
/// that shows a proxy, or comes from a page of another server, is refused with the secret too.
struct SignInByName: Sendable {
    static let path = "/phone/token"
    /// The names of this machine. Another name may be an attacker's that leads to a loopback address.
    private static let hosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]
    private static let lifetime = Duration.seconds(24 * 3600)
    /// In the data folder.
    static let secretFile = "sign-in.key"

    /// nil when nobody signs in by name.
    private let secret: String?
    private let tokens: TokenAuthority

    init(secret: String?, tokens: TokenAuthority) {
        self.secret = secret
        self.tokens = tokens
    }

    /// The secret of the folder, made at its first use, as the address has it.
    static func secret(in folder: DataFolder) throws -> String {
        try folder.secret(secretFile).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// Whether the request comes from this machine: from a page of this server, or from no page.
    private func isAllowed(_ request: HTTPRequest) -> Bool {
        request.peer.isLocal && !request.isForwarded && request.isOfSameOrigin
            && request.host.map { Self.hosts.contains(Self.name(of: $0)) } == true
    }

    /// The name in a `Host` header, without its port.
    static func name(of host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
        return host.prefix { $0 != ":" }.lowercased()
    }

    /// Whether the head alone is a reason to refuse the request, so that its body is not waited for.
    func refuses(_ request: HTTPRequest) -> Bool { (try? expectedSecret(of: request)) == nil }

    /// The secret that the request must have, if its head is that of one.
    private func expectedSecret(of request: HTTPRequest) throws(SignalError) -> String {
        guard let secret, isAllowed(request) else {
            throw SignalError(
                .forbidden,
                "Sign in with a token. A server started with --sign-in-by-name (web.sign_in_by_name) signs users in by "
                    + "name, on its own machine.")
        }
        guard request.method == .post else {
            throw SignalError(.methodNotFound, "This resource knows POST only.")
        }
        try request.expectJSON()
        return secret
    }

    func answer(_ request: HTTPRequest, on loop: EventLoop, respond: @escaping CallResources.Respond) {
        do throws(SignalError) {
            let secret = try expectedSecret(of: request)
            let user = try Self.user(of: request.body, secret)
            let respond = LoopBound(respond, on: loop)
            Task { [tokens] in
                let token = try? await tokens.mint(user: user, lifetime: Self.lifetime)
                loop.execute { respond.value(Self.response(token), nil) }
            }
        } catch {
            respond(.refusal(error), nil)
        }
    }

    private static func user(of body: [UInt8], _ secret: String) throws(SignalError) -> Handle {
        let (user, shown) = body.withUnsafeBytes { bytes in
            let object = try? JSONScanner.document(bytes)
            return (object?.member("user")?.string.flatMap { Handle($0) }, object?.member("secret")?.string)
        }
        guard let user else {
            throw SignalError(.invalidParams, "user: a name has \(Handle.rule), as in {\"user\":\"alice\"}")
        }
        guard isSame(shown ?? "", secret) else {
            throw SignalError(
                .forbidden,
                "To sign in by name at this server, open the address that its start has logged: it has a secret, which is "
                    + "also in \(secretFile) of the data folder.")
        }
        return user
    }

    /// Compares in constant time.
    private static func isSame(_ given: String, _ secret: String) -> Bool {
        let (given, secret) = (Array(given.utf8), Array(secret.utf8))
        guard given.count == secret.count else { return false }
        return zip(given, secret).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
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
