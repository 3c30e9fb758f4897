/// What is spoken inside TLS, by its name in ALPN (RFC 7301).
public enum TLSApplication: String, Sendable {
    /// The server has to agree.
    case http2 = "h2"
    /// What servers that agree on nothing speak, too.
    case http1 = "http/1.1"

    /// As a client offers it: each name after its length.
    var offer: [UInt8] { [UInt8(rawValue.utf8.count)] + Array(rawValue.utf8) }
}
