import TLS

/// The settings of a server context, which takes over accepted descriptors.
public struct ServerRole {
    let path: String
    /// The answer to each request for a WebSocket; nil where they are served.
    let upgradeRefusal: HTTPResponse?
    let subprotocol: String
    let origins: AllowedOrigins
    let maxFrameBytes: Int
    /// The paths served to a connection of the reserve; other requests get 503.
    let reservedPaths: Set<String>
    /// Turns a refusal by the listener itself, which is plain text, into the form of its other errors.
    let refusalForm: @Sendable (HTTPResponse) -> HTTPResponse
    /// The initial certificate; nil without TLS.
    let tls: TLSCertificate?
    /// Of the certificates that clients must show; nil asks for none.
    let clients: ClientAuthorities?
    /// Proof for `unowned(unsafe)`: the handler owns the context and destroys it before it is released itself.
    unowned(unsafe) let events: any ServerSocketEvents

    package init(
        path: String, upgradeRefusal: HTTPResponse? = nil, subprotocol: String, origins: AllowedOrigins = .only([]),
        maxFrameBytes: Int = 65_536,
        reservedPaths: Set<String> = [], refusalForm: @escaping @Sendable (HTTPResponse) -> HTTPResponse = { $0 },
        tls: TLSCertificate?, clients: ClientAuthorities? = nil, events: any ServerSocketEvents
    ) {
        self.path = path
        self.upgradeRefusal = upgradeRefusal
        self.subprotocol = subprotocol
        self.origins = origins
        self.maxFrameBytes = maxFrameBytes
        self.reservedPaths = reservedPaths
        self.refusalForm = refusalForm
        self.tls = tls
        self.clients = clients
        self.events = events
    }
}
