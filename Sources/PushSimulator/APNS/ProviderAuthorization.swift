import CallVocabulary
import PushVocabulary

/// What a look at a provider token's signature and claims found, apart from time and connection.
public enum ProviderTokenFacts: Equatable, Sendable {
    /// Not a JWT, not ES256, without `kid`, `iss` or `iat`, by an unknown key, or with a wrong signature.
    case invalid
    /// Signed by the key `keyID`.
    case signed(keyID: String, teamID: String, issuedAt: Instant)
}

/// An APNs auth key the simulator trusts.
public struct ProviderKey: Equatable, Sendable {
    /// Ten characters at Apple; the JWT header's `kid`.
    public var id: String
    /// The team it belongs to; the JWT's `iss`.
    public var teamID: String
    /// Where it may be used. Apple lets a key be made for one environment alone.
    public var environments: Set<PushEnvironment>
    /// The public half (P-256) in PEM.
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

/// The provider tokens of one connection: which one is in use, since when, and which may follow. Pure.
///
/// ```
/// nobody ─▶ authorized(token A) ─▶ authorized(token B) …   same key; not more often than every 20 min
/// ```
public struct ProviderAuthorization: Sendable {
    /// The oldest a token may be, by its `iat`.
    public static let longestAge = Duration.seconds(3600)
    /// The least time between two updates of the token.
    public static let updateInterval = Duration.seconds(20 * 60)
    /// By how much a provider's clock may be ahead of ours.
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

    /// Whether a valid token has come: from then on the connection may carry many streams.
    public var isAuthorized: Bool { inUse != nil }

    /// Judges `token`, of which `facts` were found, and takes it into use when it is in order.
    /// - Returns: why it is refused, or nil.
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
        // A connection opened late in a token's life sees the next one soon, and rightly so: an update is too early
        // only when neither the connection nor the clock of issue says that 20 minutes have passed.
        guard now - current.since >= Self.updateInterval || issuedAt - current.issuedAt >= Self.updateInterval else {
            return .tooManyProviderTokenUpdates
        }
        inUse = InUse(token: token, keyID: keyID, issuedAt: issuedAt, since: now)
        return nil
    }
}
