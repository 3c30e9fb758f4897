/// Why a WebSocket did not open.
public enum WebSocketFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The server answered with 401.
    case unauthorized
    /// The server's certificate failed verification, with the reason.
    case untrusted(String)
    /// Any other failure.
    case unreachable(String)

    public var description: String {
        switch self {
        case .unauthorized: "the server answers 401 Unauthorized"
        case .untrusted(let words): "the server's certificate is not trusted: \(words)"
        case .unreachable(let words): words
        }
    }

    /// Whether the server itself responded.
    var isAnswer: Bool {
        switch self {
        case .unauthorized, .untrusted: true
        case .unreachable: false
        }
    }

    /// Classifies lws 4.1's message of an attempt, its only result.
    init(libraryWords words: String) {
        let badCertificate = "server's cert didn't look good, "
        if words == "HS: ws upgrade unauthorized" {
            self = .unauthorized
        } else if words.hasPrefix(badCertificate) {
            // Followed by `X509_V_ERR = 18: ` and OpenSSL's message.
            let rest = words.dropFirst(badCertificate.count)
            self = .untrusted(rest.firstIndex(of: ":").map { String(rest[rest.index($0, offsetBy: 2)...]) } ?? words)
        } else if words.hasPrefix("connect SSL err"), let reason = LWSLibrary.takeVerificationComplaint() {
            self = .untrusted(reason)
        } else if words.hasPrefix("connect SSL err") {
            self = .unreachable("the TLS handshake failed; check whether the server expects ws:// (\(words))")
        } else if words == "HS: ws upgrade response not 101" {
            self = .unreachable(
                "what answers there takes no WebSocket at this path now; check the port and the path, and whether "
                    + "/readyz is 200")
        } else if words.isEmpty || words == "closed before established" {
            // The library's messages for a refused and for a broken connection.
            self = .unreachable("no WebSocket server answers there")
        } else {
            self = .unreachable(words)
        }
    }
}
