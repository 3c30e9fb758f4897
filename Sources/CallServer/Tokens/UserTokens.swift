import CallVocabulary
import Crypto
import Foundation
import WireJSON

/// Signs and reads user tokens: JWTs (RFC 7519) signed with HS256, in compact serialization (RFC 7515, section 7.1).
///
/// Checks are made in the order parts, header, signature, claims. Claims are read only below a valid signature, and
/// each kind of fault has its own diagnosis. A diagnosis quotes only the token, which its bearer has, and the server's
/// time. May be used from any thread.
struct UserTokens: Sendable {
    /// The claims of a token with a valid signature. Times have not been compared with the clock.
    struct Claims: Sendable {
        let user: Handle
        let expiresAt: Instant
        let notBefore: Instant?
        let name: String?
        let device: DeviceID?
    }

    /// How far a backend's clock may be ahead of the server's; applies to `nbf` only.
    static let leeway = Duration.seconds(60)
    static let algorithm = "HS256"

    private let key: SymmetricKey

    init(secret: [UInt8]) { key = SymmetricKey(data: secret) }

    /// - Parameters:
    ///   - header: JSON, like `claims`.
    func sign(header: String = #"{"alg":"HS256","typ":"JWT"}"#, claims: some Sequence<UInt8>) -> String {
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims)
        return signed + "." + Base64URL.encode(HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: key))
    }

    func read(_ token: String) throws(TokenRefusal) -> Claims {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .malformed(.parts(parts.count)) }
        guard let header = Base64URL.decode(Substring(parts[0])) else { throw .malformed(.encoding("header")) }
        guard let claims = Base64URL.decode(Substring(parts[1])) else { throw .malformed(.encoding("claims")) }
        guard let signature = Base64URL.decode(Substring(parts[2])) else { throw .malformed(.encoding("signature")) }
        try check(header: header)
        let signed = token.utf8.prefix(parts[0].count + 1 + parts[1].count)
        guard HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: Array(signed), using: key) else {
            throw .signature
        }
        return try self.claims(TokenObject(claims, part: "claims"))
    }

    private func check(header bytes: [UInt8]) throws(TokenRefusal) {
        let header = try TokenObject(bytes, part: "header")
        guard case .string(Self.algorithm)? = header["alg"] else {
            throw .algorithm(found: header["alg"]?.shown)
        }
        // RFC 7515, section 4.1.11: critical extensions that are not understood are refused. No extension is understood
        // here.
        if let critical = header["crit"] { throw .critical(found: critical.shown) }
    }

    private func claims(_ claims: TokenObject) throws(TokenRefusal) -> Claims {
        guard let expiresAt = try claims.time("exp") else { throw .claim("exp", .missing(Self.time)) }
        let notBefore = try claims.time("nbf")
        // Not used, but an invalid time reveals a faulty backend.
        _ = try claims.time("iat")
        guard let subject = try claims.text("sub", "the user's handle") else {
            throw .claim("sub", .missing("the user's handle"))
        }
        guard let user = Handle(subject) else {
            throw .claim(
                "sub", .mistyped(TokenValue.string(subject).shown, expected: "a handle: \(Handle.rule)"))
        }
        var device: DeviceID?
        if let text = try claims.text("device_id", "a UUID") {
            guard let id = DeviceID(text) else {
                throw .claim("device_id", .mistyped(TokenValue.string(text).shown, expected: "a UUID"))
            }
            device = id
        }
        let name = try claims.text("name", "a string")
        return Claims(
            user: user, expiresAt: expiresAt, notBefore: notBefore, name: name.flatMap(DisplayName.init)?.text,
            device: device)
    }

    static let time = "a number, seconds since 1970"
}

/// The members of a token's header or claims. The last of duplicate members counts; `null` counts as missing.
private struct TokenObject {
    private var members: [String: TokenValue] = [:]

    init(_ bytes: [UInt8], part: String) throws(TokenRefusal) {
        let read = bytes.withUnsafeBytes { buffer in
            Result { () throws(JSONSyntaxError) in try Self.members(buffer) }
        }
        switch read {
        case .success(let members?): self.members = members
        case .success(nil): throw .malformed(.notAnObject(part))
        case .failure(let error): throw .malformed(.json(part, error.description))
        }
    }

    /// nil for JSON that is not an object.
    private static func members(_ buffer: UnsafeRawBufferPointer) throws(JSONSyntaxError) -> [String: TokenValue]? {
        guard try JSONScanner.document(buffer).kind == .object else { return nil }
        var members: [String: TokenValue] = [:]
        var scanner = JSONScanner(buffer)
        try scanner.enterObject()
        while let name = try scanner.nextKey() { members[name.string ?? ""] = TokenValue(try scanner.value()) }
        return members
    }

    subscript(_ name: String) -> TokenValue? { members[name] }

    func text(_ name: String, _ expected: String) throws(TokenRefusal) -> String? {
        switch members[name] {
        case nil: return nil
        case .string(let text)?: return text
        case let other?: throw .claim(name, .mistyped(other.shown, expected: expected))
        }
    }

    /// Reads a NumericDate (RFC 7519, section 2): whole or fractional seconds.
    func time(_ name: String) throws(TokenRefusal) -> Instant? {
        switch members[name] {
        case nil: return nil
        case .number(let seconds, _)?:
            // The signer may write any number: it is clamped to some thousands of years.
            return Instant(milliseconds: Int64(max(-1e15, min(seconds * 1000, 1e15))))
        case let other?: throw .claim(name, .mistyped(other.shown, expected: UserTokens.time))
        }
    }
}

/// One value in a token.
private enum TokenValue {
    case string(String)
    case number(Double, text: String)
    case other(String)

    /// nil for `null`.
    init?(_ value: JSONValue) {
        switch value.kind {
        case .null: return nil
        case .string: self = .string(value.string ?? "")
        case .integer, .fraction:
            let text = String(decoding: value.bytes, as: UTF8.self)
            guard let number = Double(text), number.isFinite else {
                self = .other(text)
                return
            }
            self = .number(number, text: text)
        case .bool, .array, .object: self = .other(String(decoding: value.bytes, as: UTF8.self))
        }
    }

    /// The value for a refusal, of bounded length.
    var shown: String {
        switch self {
        case .string(let text): "\"\(Self.short(text))\""
        case .number(_, let text), .other(let text): Self.short(text)
        }
    }

    private static func short(_ text: String) -> String {
        let kept = text.unicodeScalars.prefix(64).filter { !DisplayName.isLeftOut($0) }
        return String(String.UnicodeScalarView(kept)) + (text.unicodeScalars.count > 64 ? "…" : "")
    }
}
