import ClientTokens
import EventLoop
import Logging
import OutgoingHTTP

/// Says what a server with these settings would say of a token; the server need not run.
public struct TokenInspection: Sendable {
    public let explanation: TokenExplanation
    /// The keys that the token was compared with.
    public let keys: [TokenKey]
    /// Why the provider's keys are not among them; nil when they are, or when none are served.
    public let missing: String?

    /// Takes the served keys that the realm or the server of the data folder has kept, and fetches them if neither has.
    /// Makes no secret.
    public init(_ token: String, settings: TokenSettings) async throws {
        let (folder, tokens) = (settings.folder, settings.tokens)
        var verifier = TokenVerifier(
            secrets: try settings.secrets(), provider: tokens.provider, leeway: tokens.leeway)
        var missing: String?
        if let address = tokens.keysAddress {
            let shared = try settings.sharedKeySet()
            do throws(WebFailure) {
                verifier.provider?.keys += try await RemoteKeySet.keys(of: address, folder: folder, shared: shared)
            } catch {
                missing = "cannot fetch \(address): \(error)"
            }
        }
        explanation = verifier.explain(token, at: ServerClock().wallTime())
        keys = verifier.provider?.keys ?? []
        self.missing = missing
    }
}
