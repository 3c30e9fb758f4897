/// Why a WebSocket never opened.
public enum WebSocketFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The server wants other credentials than were shown: it answered with 401.
    case unauthorized
    /// The server's certificate is not one to trust, in words.
    case untrusted(String)
    /// Anything else, in words.
    case unreachable(String)

    public var description: String {
        switch self {
        case .unauthorized: "the server answers 401 Unauthorized"
        case .untrusted(let words): "the server's certificate is not trusted: \(words)"
        case .unreachable(let words): words
        }
    }

    /// Whether a server said so, or showed it.
    var isAnswer: Bool {
        switch self {
        case .unauthorized, .untrusted: true
        case .unreachable: false
        }
    }

    /// From what lws 4.1 says of an attempt, which is all there is to tell its failures apart.
    init(libraryWords words: String) {
        let badCertificate = "server's cert didn't look good, "
        if words == "HS: ws upgrade unauthorized" {
            self = .unauthorized
        } else if words.hasPrefix(badCertificate) {
            // Behind it stands `X509_V_ERR = 18: ` and OpenSSL's words.
            let rest = words.dropFirst(badCertificate.count)
            self = .untrusted(rest.firstIndex(of: ":").map { String(rest[rest.index($0, offsetBy: 2)...]) } ?? words)
        } else if words.hasPrefix("connect SSL err"), let reason = LWSLibrary.takeVerificationComplaint() {
            self = .untrusted(reason)
        } else if words.hasPrefix("connect SSL err") {
            self = .unreachable("TLS is not agreed on there; check whether the address is one of ws:// (\(words))")
        } else if words == "HS: ws upgrade response not 101" {
            self = .unreachable("what answers there does not take this connection; check the port")
        } else if words.isEmpty || words == "closed before established" {
            // The library's words for a connection refused as well as for one that broke.
            self = .unreachable("no WebSocket server answers there")
        } else {
            self = .unreachable(words)
        }
    }
}
