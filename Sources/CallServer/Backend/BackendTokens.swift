import Synchronization

/// The tokens of backends that a server takes at present. May be used from any thread.
final class BackendTokens: Sendable {
    private let byDigest: Mutex<[String: BackendToken]>

    init(_ tokens: [BackendToken]) { byDigest = Mutex(Self.index(tokens)) }

    /// Takes over other tokens for all further requests.
    func replace(with tokens: [BackendToken]) {
        let index = Self.index(tokens)
        byDigest.withLock { $0 = index }
    }

    /// The token of this text; nil for an unknown one. The digest of a random token tells nothing about others, so its
    /// look-up need not take constant time.
    func find(_ text: String) -> BackendToken? {
        let digest = BackendToken.digest(of: text)
        return byDigest.withLock { $0[digest] }
    }

    private static func index(_ tokens: [BackendToken]) -> [String: BackendToken] {
        Dictionary(tokens.map { ($0.digest, $0) }) { $1 }
    }
}
