import CallVocabulary

/// Verifies user tokens: JWTs (RFC 7519) in compact serialization (RFC 7515, section 7.1), signed with one of the
/// server's secrets (HS256) or with a key of an identity provider.
///
/// Checks are made in the order length, parts, header, key, signature, claims, times. Claims are read only below a valid
/// signature, and each kind of fault has its own diagnosis. A diagnosis quotes only the token, which its bearer has, the
/// names of keys, what the provider's tokens must say, and the server's time.
///
/// A key verifies the algorithms that it is for, whatever the header says. Keys in a header (`jwk`, `jku`, `x5u`, `x5c`)
/// are ignored. May be used from any thread.
public struct TokenVerifier: Equatable, Sendable {
    /// The longest token, in bytes: as long as a session's request may have it.
    public static let longest = 16_384

    /// The first one signs; each is taken.
    public var secrets: [TokenSecret]
    public var provider: IdentityProvider?
    /// How far an issuer's clock may be ahead of the server's.
    public var leeway: Duration

    public static let standardLeeway = Duration.seconds(60)

    public init(
        secrets: [TokenSecret], provider: IdentityProvider? = nil, leeway: Duration = TokenVerifier.standardLeeway
    ) {
        self.secrets = secrets
        self.provider = provider
        self.leeway = leeway
    }

    /// Those of all keys.
    package var fingerprints: Set<KeyFingerprint> {
        Set(secrets.map(\.fingerprint) + (provider?.keys.map(\.fingerprint) ?? []))
    }

    /// That of the key which has signed a token that this verifier has verified.
    package func fingerprint(of signer: TokenClaims.Signer) -> KeyFingerprint {
        switch signer {
        case .secret(let index): secrets[index].fingerprint
        case .key(let key): key.fingerprint
        }
    }

    /// Reads the token and compares its times with the clock.
    public func verify(_ token: String, at now: Instant) throws(TokenRefusal) -> TokenClaims {
        let claims = try read(token)
        try claims.check(at: now, leeway: leeway)
        return claims
    }

    /// Checks everything but the times.
    func read(_ token: String) throws(TokenRefusal) -> TokenClaims {
        let parts = try TokenParts(token)
        let header = try TokenHeader(parts.header, taken: algorithms, hasProvider: provider != nil)
        let signer = try signer(of: parts, header)
        return try claims(TokenObject(parts.claims, part: "claims"), signer, header.algorithm)
    }

    /// The algorithms that some key is for.
    var algorithms: [TokenAlgorithm] {
        TokenAlgorithm.allCases.filter { algorithm in
            algorithm == .hs256
                ? !secrets.isEmpty : provider?.keys.contains { $0.algorithms.contains(algorithm) } == true
        }
    }

    // MARK: The key

    func signer(of parts: TokenParts, _ header: TokenHeader) throws(TokenRefusal) -> TokenClaims.Signer {
        if header.algorithm == .hs256 {
            guard let index = secrets.firstIndex(where: { $0.isSignature(parts.signature, of: parts.signed) }) else {
                throw .signature
            }
            return .secret(index)
        }
        let candidates = try candidates(header)
        guard
            let key = candidates.first(where: {
                $0.isSignature(parts.signature, of: parts.signed, by: header.algorithm)
            })
        else {
            // Without a key of that id the token may be signed with one that is newer than those of files.
            if let id = header.keyID, candidates.allSatisfy({ $0.id == nil }) {
                throw unknown(id, tried: candidates)
            }
            throw .keySignature(candidates.map(\.name))
        }
        return .key(key)
    }

    /// The keys that a token with this header may be signed with; at least one. Several keys with one `kid`, and several
    /// without, are all tried: the operator trusts each of them.
    private func candidates(_ header: TokenHeader) throws(TokenRefusal) -> [TokenKey] {
        let keys = provider?.keys ?? []
        // A key in PEM has no id, so that a token's kid says nothing about it.
        let unnamed = keys.filter { $0.id == nil && $0.algorithms.contains(header.algorithm) }
        guard let id = header.keyID else {
            let named = keys.filter { $0.id != nil && $0.algorithms.contains(header.algorithm) }
            if named.count == 1 { return unnamed + named }
            if !unnamed.isEmpty { return unnamed }
            throw .keyMissing(keys: named.count, header.algorithm)
        }
        let named = keys.filter { $0.id.map { Array($0.utf8) == Array(id.utf8) } == true }
        let fitting = named.filter { $0.algorithms.contains(header.algorithm) }
        if !fitting.isEmpty { return fitting }
        if !named.isEmpty {
            throw .keyAlgorithm(
                found: header.algorithm, key: TokenValue.string(id).shown, taken: named.flatMap(\.algorithms))
        }
        if !unnamed.isEmpty { return unnamed }
        throw unknown(id)
    }

    private func unknown(_ id: String, tried: [TokenKey] = []) -> TokenRefusal {
        let shown = TokenValue.string(id).shown
        if provider?.withdrawn.contains(id) == true { return .keyWithdrawn(shown) }
        return .keyUnknown(shown, tried: tried.map(\.name))
    }

    // MARK: The claims

    private func claims(
        _ claims: TokenObject, _ signer: TokenClaims.Signer, _ algorithm: TokenAlgorithm
    ) throws(TokenRefusal) -> TokenClaims {
        var userClaim = "sub"
        if case .key = signer, let provider {
            userClaim = provider.userClaim
            try check(issuer: claims, provider)
        }
        try check(audience: claims, signer)
        guard let expiresAt = try claims.time("exp") else { throw .claim("exp", .missing(TokenObject.time)) }
        let notBefore = try claims.time("nbf")
        let issuedAt = try claims.time("iat")
        guard let subject = try claims.text(userClaim, "the user's handle") else {
            throw .claim(userClaim, .missing("the user's handle"))
        }
        guard let user = Handle(subject) else {
            throw .claim(
                userClaim, .mistyped(TokenValue.string(subject).shown, expected: "a handle: \(Handle.rule)"))
        }
        var device: DeviceID?
        if let text = try claims.text("device_id", "a UUID") {
            guard let id = DeviceID(text) else {
                throw .claim("device_id", .mistyped(TokenValue.string(text).shown, expected: "a UUID"))
            }
            device = id
        }
        let name = try claims.text("name", "a string")
        let targets = try claims.callTargets()
        let callsPerMinute = try claims.callsPerMinute()
        return TokenClaims(
            signer: signer, algorithm: algorithm, user: user, expiresAt: expiresAt, notBefore: notBefore,
            issuedAt: issuedAt, name: name.flatMap { DisplayName($0)?.text }, device: device,
            callTargets: targets, callsPerMinute: callsPerMinute)
    }

    private func check(issuer claims: TokenObject, _ provider: IdentityProvider) throws(TokenRefusal) {
        let wanted = TokenValue.string(provider.issuer).shown
        guard let found = claims["iss"] else { throw .claim("iss", .missing(wanted)) }
        guard found.isText(provider.issuer) else {
            throw .claim("iss", .differs(found.shown, wanted: wanted))
        }
    }

    /// The server's own tokens need no `aud`; one for somebody else is refused (RFC 7519, section 4.1.3).
    private func check(audience claims: TokenObject, _ signer: TokenClaims.Signer) throws(TokenRefusal) {
        guard let provider else { return }
        let wanted = provider.audiences.map { TokenValue.string($0).shown }.joined(separator: " or ")
        guard let found = claims["aud"] else {
            if case .key = signer { throw .claim("aud", .missing(wanted)) }
            return
        }
        let texts = if case .string(let text) = found { [text] } else { found.texts ?? [] }
        let isMeant = texts.contains { text in
            provider.audiences.contains { $0.utf8.elementsEqual(text.utf8) }
        }
        guard isMeant else { throw .claim("aud", .differs(found.shown, wanted: wanted)) }
    }
}

/// The three parts of a token, decoded.
struct TokenParts {
    let header: [UInt8]
    let claims: [UInt8]
    let signature: [UInt8]
    /// What the signature is of.
    let signed: [UInt8]

    init(_ token: String) throws(TokenRefusal) {
        guard token.utf8.count <= TokenVerifier.longest else { throw .malformed(.length(token.utf8.count)) }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .malformed(.parts(parts.count)) }
        guard let header = Base64URL.decode(Substring(parts[0])) else { throw .malformed(.encoding("header")) }
        guard let claims = Base64URL.decode(Substring(parts[1])) else { throw .malformed(.encoding("claims")) }
        guard let signature = Base64URL.decode(Substring(parts[2])) else { throw .malformed(.encoding("signature")) }
        (self.header, self.claims, self.signature) = (header, claims, signature)
        signed = Array(token.utf8.prefix(parts[0].count + 1 + parts[1].count))
    }
}

/// What a token's header says of its signature.
struct TokenHeader {
    let algorithm: TokenAlgorithm
    let keyID: String?

    /// - Parameters:
    ///   - taken: the algorithms that some key is for.
    ///   - hasProvider: whether keys for others may come.
    init(_ bytes: [UInt8], taken: [TokenAlgorithm], hasProvider: Bool) throws(TokenRefusal) {
        let header = try TokenObject(bytes, part: "header")
        guard case .string(let name)? = header["alg"], let algorithm = TokenAlgorithm(utf8: name.utf8),
            taken.contains(algorithm) || hasProvider && algorithm != .hs256
        else { throw .algorithm(found: header["alg"]?.shown, taken: taken) }
        // RFC 7515, section 4.1.11: critical extensions that are not understood are refused. No extension is understood
        // here.
        if let critical = header["crit"] { throw .critical(found: critical.shown) }
        self.algorithm = algorithm
        switch header["kid"] {
        case nil: keyID = nil
        case .string(let id)? where ForeignText.isComparable(id.utf8): keyID = id
        // The server's secret has no id, and its tokens any kid.
        case .some where algorithm == .hs256: keyID = nil
        case let other?: throw .keyMistyped(other.shown)
        }
    }
}
