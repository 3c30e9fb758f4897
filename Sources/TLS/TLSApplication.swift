/// The application protocol inside TLS, by its ALPN name (RFC 7301).
public enum TLSApplication: String, Sendable {
    /// Requires the server's agreement.
    case http2 = "h2"
    /// Accepts servers without ALPN.
    case http1 = "http/1.1"

    /// The ALPN offer of a client: each name prefixed by its length.
    var offer: [UInt8] { [UInt8(rawValue.utf8.count)] + Array(rawValue.utf8) }
}
