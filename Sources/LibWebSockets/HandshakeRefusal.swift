/// A client that asked for a WebSocket and did not get one, or for anything without the listener's token.
public struct HandshakeRefusal: Equatable, Sendable {
    public enum Cause: Equatable, Sendable {
        /// It was answered with this HTTP status.
        case status(Int)
        /// Its TLS handshake began and did not end.
        case tls
    }

    /// The client's address.
    public let peer: PeerAddress
    public let cause: Cause

    public init(peer: PeerAddress, cause: Cause) {
        self.peer = peer
        self.cause = cause
    }

    /// `http_404` and the like, or `tls`.
    public var reason: String {
        switch cause {
        case .status(let status): "http_\(status)"
        case .tls: "tls"
        }
    }
}
