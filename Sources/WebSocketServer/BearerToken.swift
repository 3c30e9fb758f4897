import LibWebSockets

/// A secret that clients send as `Authorization: Bearer …`, or a web page as the subprotocol `bearer.` and the secret in
/// base64url (RFC 4648, 5) without padding.
public struct BearerToken: Equatable, Sendable {
    /// The permitted characters: RFC 6750's `b64token`, which HTTP headers carry unchanged.
    private static let characters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=".utf8)
    /// The shortest token that resists guessing.
    public static let fewestCharacters = 16

    private let bytes: [UInt8]
    private let subprotocol: [UInt8]

    /// nil for a text that is too short, or that contains other characters.
    public init?(_ text: String) {
        guard text.utf8.count >= Self.fewestCharacters, text.utf8.allSatisfy(Self.characters.contains) else {
            return nil
        }
        bytes = Array(text.utf8)
        subprotocol = Array("bearer.".utf8) + Self.base64URL(bytes)
    }

    /// Whether the credentials contain exactly this token.
    func isShown(by credentials: Credentials) -> Bool {
        if let authorization = credentials.authorization, let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer",
            Self.areEqual(Array(authorization[authorization.index(after: space)...].utf8), bytes)
        {
            return true
        }
        return credentials.subprotocols.contains { Self.areEqual(Array($0.utf8), subprotocol) }
    }

    /// Compares in constant time.
    private static func areEqual(_ shown: [UInt8], _ secret: [UInt8]) -> Bool {
        var difference = shown.count ^ secret.count
        for index in secret.indices {
            difference |= Int(secret[index] ^ (index < shown.count ? shown[index] : 0))
        }
        return difference == 0
    }

    private static func base64URL(_ bytes: [UInt8]) -> [UInt8] {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var (text, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
        for byte in bytes {
            (bits, count) = (bits << 8 | UInt32(byte), count + 8)
            while count >= 6 {
                count -= 6
                text.append(letters[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(letters[Int(bits << (6 - count) & 63)]) }
        return text
    }

    /// The response to a client without the token.
    static var refusal: HTTPResponse {
        let words = "Show the token of this listener: Authorization: Bearer TOKEN."
        return HTTPResponse(
            status: 401, contentType: "application/json", headers: [("WWW-Authenticate", "Bearer")],
            body: Array(#"{"error":{"code":"unauthenticated","message":"\#(words)"}}"#.utf8))
    }
}
