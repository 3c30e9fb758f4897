/// A client whose WebSocket or TLS handshake failed, whose request lacked the listener's token, or whose proxy sent no
/// valid PROXY protocol header.
public struct HandshakeRefusal: Equatable, Sendable {
    public enum Cause: Equatable, Sendable {
        case status(Int)
        /// The TLS handshake began and did not complete.
        case tls
        /// What is wrong with the PROXY protocol header. The peer is the proxy.
        case proxyHeader(ProxyHeader.Fault)
    }

    public let peer: PeerAddress
    public let cause: Cause

    public init(peer: PeerAddress, cause: Cause) {
        self.peer = peer
        self.cause = cause
    }

    /// `tls`, `proxy_header`, or `http_` and the status: `http_404`.
    public var reason: String {
        switch cause {
        case .status(let status): "http_\(status)"
        case .tls: "tls"
        case .proxyHeader: "proxy_header"
        }
    }

    /// The cause as a sentence for people; nil where the reason says it.
    public var detail: String? {
        switch cause {
        case .status, .tls: nil
        case .proxyHeader(let fault): fault.rawValue
        }
    }
}
