/// A client whose WebSocket or TLS handshake failed, whose request lacked the listener's token, or whose proxy sent no
/// valid PROXY protocol header, or one that is not read.
public struct HandshakeRefusal: Equatable, Sendable {
    public enum Cause: Equatable, Sendable {
        case status(Int)
        /// A request for the path of WebSockets without an upgrade, as through a proxy that leaves it out.
        case noUpgrade
        /// The first bytes are no request of HTTP/1.1: TLS or HTTP/2 where neither is spoken, or anything else.
        case notHTTP
        /// The TLS handshake began and did not complete.
        case tls
        /// What is wrong with the PROXY protocol header. The peer is the proxy.
        case proxyHeader(ProxyHeader.Fault)
        /// A PROXY protocol header where none is read.
        case strayProxyHeader
    }

    public let peer: PeerAddress
    public let cause: Cause

    public init(peer: PeerAddress, cause: Cause) {
        self.peer = peer
        self.cause = cause
    }

    /// `tls`, `not_http`, `proxy_header`, or `http_` and the status: `http_404`, `http_426`.
    public var reason: String {
        switch cause {
        case .status(let status): "http_\(status)"
        case .tls: "tls"
        case .noUpgrade: "http_426"
        case .notHTTP: "not_http"
        case .proxyHeader, .strayProxyHeader: "proxy_header"
        }
    }

    /// The cause as a sentence for people; nil where the reason says it.
    public var detail: String? {
        switch cause {
        case .status, .tls: nil
        case .noUpgrade: "the request has no Upgrade: websocket; a proxy on the way must pass Upgrade and Connection on"
        case .notHTTP:
            "no request of HTTP/1.1: the client or a proxy speaks something else to this address, such as HTTP/2, or TLS where "
                + "there is none (wss:// instead of ws://)"
        case .proxyHeader(let fault): fault.rawValue
        case .strayProxyHeader:
            "a PROXY protocol header from an address whose header is not read: list the proxy in listen.proxies and set "
                + "listen.proxy_protocol, or let it send none"
        }
    }
}
