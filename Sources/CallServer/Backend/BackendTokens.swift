import Synchronization

/// The backends' tokens that a server accepts. May be used from any thread.
final class BackendTokens: Sendable {
    private let byDigest: Mutex<[String: BackendToken]>

    init(_ tokens: [BackendToken]) { byDigest = Mutex(Self.index(tokens)) }

    /// Replaces the tokens, for all further requests.
    func replace(with tokens: [BackendToken]) {
        let index = Self.index(tokens)
        byDigest.withLock { $0 = index }
    }

    /// The token with this text; nil if it is unknown. The look-up need not take constant time, because the digest of a
    /// random token reveals nothing about other tokens.
    func find(_ text: String) -> BackendToken? {
        let digest = BackendToken.digest(of: text)
        return byDigest.withLock { $0[digest] }
    }

    private static func index(_ tokens: [BackendToken]) -> [String: BackendToken] {
        Dictionary(tokens.map { ($0.digest, $0) }) { $1 }
    }
}
