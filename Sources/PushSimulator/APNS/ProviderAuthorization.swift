import CallVocabulary
import PushVocabulary

/// The verified signature and claims of a provider token, independent of time and connection.
public enum ProviderTokenFacts: Equatable, Sendable {
    /// Not a JWT, not ES256, without `kid`, `iss` or `iat`, of an unknown key, or with a wrong signature.
    case invalid
    /// Signed by the key `keyID`.
    case signed(keyID: String, teamID: String, issuedAt: Instant)
}

/// An APNs auth key that the simulator trusts.
public struct ProviderKey: Equatable, Sendable {
    /// The JWT header's `kid`; ten characters at Apple.
    public var id: String
    /// The key's team; the JWT's `iss`.
    public var teamID: String
    /// The environments of the key. Apple also issues keys for a single environment.
    public var environments: Set<PushEnvironment>
    /// The public key (P-256) in PEM.
    public var publicKeyPEM: String

    public init(
        id: String, teamID: String, environments: Set<PushEnvironment> = [.production, .sandbox], publicKeyPEM: String
    ) {
        self.id = id
        self.teamID = teamID
        self.environments = environments
        self.publicKeyPEM = publicKeyPEM
    }
}

/// The provider tokens of one connection: the current one, its start, and its possible successors. Pure.
///
/// ```
/// none ─▶ authorized(token A) ─▶ authorized(token B) …   same key; not more often than every 20 min
/// ```
public struct ProviderAuthorization: Sendable {
    /// The maximum age of a token, by its `iat`.
    public static let longestAge = Duration.seconds(3600)
    /// The shortest interval between two updates of the token.
    public static let updateInterval = Duration.seconds(20 * 60)
    /// How far a provider's clock may be ahead.
    public static let clockTolerance = Duration.seconds(60)

    private struct InUse {
        var token: String
        var keyID: String
        var issuedAt: Instant
        var since: Instant
    }

    private let environment: PushEnvironment
    private let keys: [ProviderKey]
    private var inUse: InUse?

    public init(environment: PushEnvironment, keys: [ProviderKey]) {
        self.environment = environment
        self.keys = keys
    }

    /// Whether a valid token arrived, which raises the stream limit.
    public var isAuthorized: Bool { inUse != nil }

    /// Checks `token` with its `facts`, and makes a valid one the current token.
    /// - Returns: the reason of the refusal; nil for a valid token.
    public mutating func judge(_ token: String, facts: ProviderTokenFacts, now: Instant) -> APNSReason? {
        guard case .signed(let keyID, let teamID, let issuedAt) = facts,
            let key = keys.first(where: { $0.id == keyID }), key.teamID == teamID, issuedAt <= now + Self.clockTolerance
        else { return .invalidProviderToken }
        guard key.environments.contains(environment) else { return .badEnvironmentKeyIDInToken }
        guard now - issuedAt <= Self.longestAge else { return .expiredProviderToken }
        guard let current = inUse else {
            inUse = InUse(token: token, keyID: keyID, issuedAt: issuedAt, since: now)
            return nil
        }
        guard current.token != token else { return nil }
        guard current.keyID == keyID else { return .unrelatedKeyIDInToken }
        // A connection opened late in a token's life soon gets the next token, legitimately. An update is too early
        // only if less than 20 minutes passed on the connection and between the two `iat`s.
        guard now - current.since >= Self.updateInterval || issuedAt - current.issuedAt >= Self.updateInterval else {
            return .tooManyProviderTokenUpdates
        }
        inUse = InUse(token: token, keyID: keyID, issuedAt: issuedAt, since: now)
        return nil
    }
}
