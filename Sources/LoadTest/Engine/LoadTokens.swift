import CallServer
import CallVocabulary
import EventLoop

/// Tokens of users, as the server takes them. Any thread.
struct LoadTokens: Sendable {
    /// Longer than any test.
    private static let lifetime = Duration.seconds(7 * 86_400)

    private let authority: TokenAuthority

    /// - Parameter secretFile: `client-token.key` of the server's data folder, or a copy.
    /// - Throws: ``LoadError``.
    init(secretFile: String) async throws {
        do {
            authority = try await TokenAuthority(clientSecretFile: secretFile)
        } catch {
            throw LoadError("no tokens can be made: \(error)")
        }
    }

    func mint(_ user: Handle) async throws -> String {
        try await authority.mint(user: user, lifetime: Self.lifetime)
    }

    /// Mints one token for each of `users`; `completion` is called with them, in that order, on `loop`.
    func mint(
        _ users: [Handle], on loop: EventLoop, completion: @escaping (Result<[String], any Error>) -> Void
    ) {
        let completion = LoopBound(completion, on: loop)
        Task {
            var tokens: [String] = []
            tokens.reserveCapacity(users.count)
            do {
                for user in users { tokens.append(try await mint(user)) }
                let made = tokens
                loop.execute { completion.value(.success(made)) }
            } catch {
                loop.execute { completion.value(.failure(error)) }
            }
        }
    }
}
