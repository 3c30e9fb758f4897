import CallVocabulary
import Foundation

/// Why a token was refused: one case for each diagnosis.
public enum TokenRefusal: Error, Equatable, Sendable {
    /// It is not a JWT.
    case malformed(Malformation)
    /// The header's `alg` is not the accepted one; nil when it is missing.
    case algorithm(found: String?)
    /// The header has `crit`.
    case critical(found: String)
    /// It is signed with another key, or not signed.
    case signature
    /// The time at which it expired.
    case expired(Instant, now: Instant)
    /// `nbf` is later than the server's time, beyond the leeway.
    case early(Instant, now: Instant)
    case claim(String, ClaimFault)
    /// It is not a wake token of this server.
    case wakeToken
    /// A wake token that expired at this time.
    case wakeTokenExpired(Instant, now: Instant)

    public enum Malformation: Equatable, Sendable {
        /// The number of parts, which is not three.
        case parts(Int)
        /// The part is not base64url without padding.
        case encoding(String)
        /// The part is not JSON, for the reason given.
        case json(String, String)
        case notAnObject(String)
    }

    public enum ClaimFault: Equatable, Sendable {
        case missing(String)
        case mistyped(String, expected: String)
    }

    /// The diagnosis for the client's developer, with advice at the end.
    public var message: String { "The token \(diagnosis). \(advice)" }

    private var diagnosis: String {
        switch self {
        case .malformed(.parts(let count)):
            "is no JWT: it has \(count) \(count == 1 ? "part" : "parts"), not header, claims and signature"
        case .malformed(.encoding(let part)): "is no JWT: the part \(part) is not base64url without padding"
        case .malformed(.json(let part, let reason)): "is no JWT: the part \(part) is not valid JSON: \(reason)"
        case .malformed(.notAnObject(let part)): "is no JWT: the part \(part) is not a JSON object"
        case .algorithm(nil): "has no alg in its header; \"\(UserTokens.algorithm)\" is taken"
        case .algorithm(let found?):
            "has the alg \(found) in its header; only \"\(UserTokens.algorithm)\" is taken"
        case .critical(let found): "has crit \(found) in its header; this server knows no extension"
        case .signature: "is not signed with this server's key"
        case .expired(let end, let now):
            "has expired: exp is \(Self.text(end)), the server's time is \(Self.text(now))"
        case .early(let start, let now):
            "is not good yet: nbf is \(Self.text(start)), the server's time is \(Self.text(now))"
        case .claim(let name, .missing(let expected)): "has no \(name); expected \(expected)"
        case .claim(let name, .mistyped(let found, let expected)): "has \(name) \(found); expected \(expected)"
        case .wakeToken: "is a wake token that this server has not made"
        case .wakeTokenExpired(let end, let now):
            "is a wake token that ended at \(Self.text(end)); the server's time is \(Self.text(now))"
        }
    }

    private var advice: String {
        switch self {
        case .expired: "Get a new one from your backend and open again."
        case .early: "Check the backend's clock, and this server's."
        case .signature: "Sign it with the key in client-token.key, then open again."
        case .malformed, .algorithm, .critical, .claim: "Correct your backend, get a new one and open again."
        case .wakeToken, .wakeTokenExpired: "Open with a user token."
        }
    }

    /// The number in the token, and the date for people.
    private static func text(_ instant: Instant) -> String {
        let seconds = instant.wholeSeconds
        // Later dates have years of more than four digits.
        guard (0..<253_402_300_800).contains(seconds) else { return "\(seconds)" }
        return "\(seconds) (\(Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)))"
    }
}
