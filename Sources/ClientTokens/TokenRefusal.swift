import CallVocabulary
import Foundation

/// Why a token was refused: one case for each diagnosis.
public enum TokenRefusal: Error, Equatable, Sendable {
    /// It is not a JWT.
    case malformed(Malformation)
    /// The header's `alg` is none of those taken; nil when it is missing.
    case algorithm(found: String?, taken: [TokenAlgorithm] = [.hs256])
    /// The header has `crit`.
    case critical(found: String)
    /// It is not signed with the server's secret.
    case signature
    /// It is signed with none of the keys that it may be signed with, which are named.
    case keySignature([String])
    /// The header's `kid` is in no key set, and the keys without a `kid`, which are named, have not signed it.
    case keyUnknown(String, tried: [String] = [])
    /// The header's `kid` is that of a key which the identity provider has withdrawn.
    case keyWithdrawn(String)
    /// The header's `kid` is not text.
    case keyMistyped(String)
    /// The header has no `kid`, and several keys are for its algorithm, or none is.
    case keyMissing(keys: Int, TokenAlgorithm)
    /// The key of the header's `kid` is for other algorithms.
    case keyAlgorithm(found: TokenAlgorithm, key: String, taken: [TokenAlgorithm])
    /// The time at which it expired.
    case expired(Instant, now: Instant)
    /// `nbf` or `iat` is later than the server's time, beyond the leeway.
    case early(String, Instant, now: Instant)
    case claim(String, ClaimFault)
    /// It is not a wake token of this server.
    case wakeToken
    /// A wake token that expired at this time.
    case wakeTokenExpired(Instant, now: Instant)

    public enum Malformation: Equatable, Sendable {
        /// The number of bytes, which is more than ``TokenVerifier/longest``.
        case length(Int)
        /// The number of parts, which is not three.
        case parts(Int)
        /// The part is not base64url without padding.
        case encoding(String)
        /// The part is not JSON, for the reason given.
        case json(String, String)
        case notAnObject(String)
        /// The part has a member, quoted, twice.
        case repeated(String, String)
    }

    public enum ClaimFault: Equatable, Sendable {
        case missing(String)
        case mistyped(String, expected: String)
        /// It is well-formed, and not the value that is wanted.
        case differs(String, wanted: String)
    }

    /// What is wrong, for counting.
    public enum Cause: String, CaseIterable, Sendable {
        case malformed, algorithm, key, signature, expired, early, issuer, audience, claim, wake
    }

    public var cause: Cause {
        switch self {
        case .malformed: .malformed
        case .algorithm, .critical, .keyAlgorithm: .algorithm
        case .keyUnknown, .keyWithdrawn, .keyMistyped, .keyMissing: .key
        case .signature, .keySignature: .signature
        case .expired: .expired
        case .early: .early
        case .claim("iss", _): .issuer
        case .claim("aud", _): .audience
        case .claim: .claim
        case .wakeToken, .wakeTokenExpired: .wake
        }
    }

    /// Whether newer keys of the identity provider may make the token good: a new key may have no `kid`, or that of the
    /// key before it.
    public var isForNewerKeys: Bool {
        switch self {
        case .keyUnknown, .keyMissing, .keySignature, .keyAlgorithm: true
        case .malformed, .algorithm, .critical, .signature, .keyWithdrawn, .keyMistyped, .expired, .early, .claim,
            .wakeToken, .wakeTokenExpired:
            false
        }
    }

    /// The diagnosis for the client's developer, with advice at the end.
    public var message: String { "The token \(diagnosis). \(advice)" }

    /// The diagnosis without its subject.
    var diagnosis: String {
        switch self {
        case .malformed(.length(let count)):
            "is too long: it has \(count) bytes, this server takes \(TokenVerifier.longest)"
        case .malformed(.repeated(let part, let name)): "is ambiguous: the part \(part) has \(name) twice"
        case .malformed(.parts(let count)):
            "is no JWT: it has \(count) \(count == 1 ? "part" : "parts"), not header, claims and signature"
        case .malformed(.encoding(let part)): "is no JWT: the part \(part) is not base64url without padding"
        case .malformed(.json(let part, let reason)): "is no JWT: the part \(part) is not valid JSON: \(reason)"
        case .malformed(.notAnObject(let part)): "is no JWT: the part \(part) is not a JSON object"
        case .algorithm(nil, let taken): "has no alg in its header; \(Self.taken(taken))"
        case .algorithm(let found?, let taken):
            "has the alg \(found) in its header; only \(Self.taken(taken))"
        case .critical(let found): "has crit \(found) in its header; this server knows no extension"
        case .signature: "is not signed with this server's key"
        case .keySignature(let keys): "is not signed with \(keys.joined(separator: " or "))"
        case .keyUnknown(let id, let tried):
            "has the kid \(id) in its header; the identity provider has no such key"
                + (tried.isEmpty ? "" : ", and it is not signed with \(tried.joined(separator: " or "))")
        case .keyWithdrawn(let id): "has the kid \(id) in its header; the identity provider has withdrawn that key"
        case .keyMistyped(let found): "has the kid \(found) in its header; expected text"
        case .keyMissing(let count, let algorithm):
            "has no kid in its header; \(count == 0 ? "no key is" : "\(count) keys are") for \(algorithm.rawValue)"
        case .keyAlgorithm(let found, let key, let taken):
            "has the alg \(Self.quoted([found])) in its header; the key \(key) is for \(Self.quoted(taken))"
        case .expired(let end, let now):
            "has expired: exp is \(Self.text(end)), the server's time is \(Self.text(now))"
        case .early(let claim, let start, let now):
            "is not good yet: \(claim) is \(Self.text(start)), the server's time is \(Self.text(now))"
        case .claim(let name, .missing(let expected)): "has no \(name); expected \(expected)"
        case .claim(let name, .mistyped(let found, let expected)): "has \(name) \(found); expected \(expected)"
        case .claim(let name, .differs(let found, let wanted)): "has \(name) \(found); this server wants \(wanted)"
        case .wakeToken: "is a wake token that this server has not made"
        case .wakeTokenExpired(let end, let now):
            "is a wake token that ended at \(Self.text(end)); the server's time is \(Self.text(now))"
        }
    }

    private var advice: String {
        switch self {
        case .expired: "Get a new one from your backend and open again."
        case .early: "Check the issuer's clock, and this server's."
        case .signature: "Sign it with the key in client-token.key, then open again."
        case .keySignature, .keyUnknown, .keyWithdrawn: "Get a new one from the identity provider and open again."
        case .claim(_, .differs): "Get one for this server and open again."
        case .malformed, .algorithm, .critical, .claim, .keyMistyped, .keyMissing, .keyAlgorithm:
            "Correct your backend, get a new one and open again."
        case .wakeToken, .wakeTokenExpired: "Open with a user token."
        }
    }

    /// `"HS256" is taken`, `"HS256", "RS256" and "ES256" are taken`.
    private static func taken(_ algorithms: [TokenAlgorithm]) -> String {
        let names = algorithms.map { "\"\($0.rawValue)\"" }
        guard let last = names.last, names.count > 1 else { return "\(names.first ?? "none") is taken" }
        return "\(names.dropLast().joined(separator: ", ")) and \(last) are taken"
    }

    private static func quoted(_ algorithms: [TokenAlgorithm]) -> String {
        algorithms.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
    }

    /// The number in the token, and the date for people.
    private static func text(_ instant: Instant) -> String {
        let seconds = instant.wholeSeconds
        // Later dates have years of more than four digits.
        guard (0..<253_402_300_800).contains(seconds) else { return "\(seconds)" }
        return "\(seconds) (\(Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)))"
    }
}
