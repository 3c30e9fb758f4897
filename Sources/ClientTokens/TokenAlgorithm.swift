/// The signature algorithms of user tokens (RFC 7518, section 3.1; RFC 8037, section 3.1).
public enum TokenAlgorithm: String, CaseIterable, Sendable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    case es384 = "ES384"
    case edDSA = "EdDSA"
}

extension [TokenAlgorithm] {
    /// `RS256 or PS256`.
    var names: String { map(\.rawValue).joined(separator: " or ") }
}
