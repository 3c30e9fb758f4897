import CallVocabulary
import Crypto
import Foundation
import WireJSON

/// Signs and reads users' tokens: JWTs (RFC 7519) signed with HS256, in compact serialization (RFC 7515, section 7.1).
///
/// The order of a reader's checks: parts, header, signature, claims. Claims are looked at only below a valid signature, and each
/// kind of fault has a diagnosis of its own. A diagnosis says what stands in the token, which its bearer has, and the
/// server's time. Any thread.
struct UserTokens: Sendable {
    /// The claims of a token whose signature is valid. Times are not compared with the clock yet.
    struct Claims: Sendable {
        let user: Handle
        let expiresAt: Instant
        let notBefore: Instant?
        let name: String?
        let device: DeviceID?
    }

    /// How far a backend's clock may be ahead of the server's: counts for `nbf` alone.
    static let leeway = Duration.seconds(60)
    static let algorithm = "HS256"

    private let key: SymmetricKey

    init(secret: [UInt8]) { key = SymmetricKey(data: secret) }

    /// - Parameters:
    ///   - header: JSON, as `claims` is.
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
        // RFC 7515, section 4.1.11: what is not understood and critical is refused. No extension is understood here.
        if let critical = header["crit"] { throw .critical(found: critical.shown) }
    }

    private func claims(_ claims: TokenObject) throws(TokenRefusal) -> Claims {
        guard let expiresAt = try claims.time("exp") else { throw .claim("exp", .missing(Self.time)) }
        let notBefore = try claims.time("nbf")
        // Of no use here, but one that is no time tells of a backend that goes wrong.
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

/// The members of a token's header or claims. Of a member that comes twice the last one counts, `null` counts as left out.
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

    /// nil for JSON that is no object.
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

    /// A NumericDate (RFC 7519, section 2): whole seconds or a fraction.
    func time(_ name: String) throws(TokenRefusal) -> Instant? {
        switch members[name] {
        case nil: return nil
        case .number(let seconds, _)?:
            // Whoever signs may write any number; one is as good as another some thousand years from now.
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

    /// For a refusal, in bounded length.
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
