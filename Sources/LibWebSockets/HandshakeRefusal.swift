/// A client whose WebSocket or TLS handshake failed, or whose request lacked the listener's token.
public struct HandshakeRefusal: Equatable, Sendable {
    public enum Cause: Equatable, Sendable {
        case status(Int)
        /// The TLS handshake began and did not complete.
        case tls
    }

    public let peer: PeerAddress
    public let cause: Cause

    public init(peer: PeerAddress, cause: Cause) {
        self.peer = peer
        self.cause = cause
    }

    /// `tls`, or `http_` and the status: `http_404`.
    public var reason: String {
        switch cause {
        case .status(let status): "http_\(status)"
        case .tls: "tls"
        }
    }
}
