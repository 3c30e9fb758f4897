import LibWebSockets

/// A secret that clients send as `Authorization: Bearer …`.
public struct BearerToken: Sendable {
    /// The permitted characters: RFC 6750's `b64token`, which HTTP headers carry unchanged.
    private static let characters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=".utf8)
    /// The shortest token that resists guessing.
    public static let fewestCharacters = 16

    private let bytes: [UInt8]

    /// nil for a text that is too short, or that contains other characters.
    public init?(_ text: String) {
        guard text.utf8.count >= Self.fewestCharacters, text.utf8.allSatisfy(Self.characters.contains) else {
            return nil
        }
        bytes = Array(text.utf8)
    }

    /// Whether the header's value is exactly this token. Compares in constant time.
    func isShown(by authorization: String?) -> Bool {
        guard let authorization, let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer"
        else { return false }
        let shown = Array(authorization[authorization.index(after: space)...].utf8)
        var difference = shown.count ^ bytes.count
        for index in bytes.indices {
            difference |= Int(bytes[index] ^ (index < shown.count ? shown[index] : 0))
        }
        return difference == 0
    }

    /// The response to a client without the token.
    static var refusal: HTTPResponse {
        let words = "Show the token of this listener: Authorization: Bearer TOKEN."
        return HTTPResponse(
            status: 401, contentType: "application/json", headers: [("WWW-Authenticate", "Bearer")],
            body: Array(#"{"error":{"code":"unauthenticated","message":"\#(words)"}}"#.utf8))
    }
}
