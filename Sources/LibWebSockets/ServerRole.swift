/// What a server context serves. It does not listen: it takes over accepted descriptors.
public struct ServerRole {
    let path: String
    let subprotocol: String
    /// What it begins with.
    let tls: TLSCertificate?
    /// Proof for `unowned(unsafe)`: the handler owns the context and destroys it before it goes.
    unowned(unsafe) let events: any ServerSocketEvents

    package init(path: String, subprotocol: String, tls: TLSCertificate?, events: any ServerSocketEvents) {
        self.path = path
        self.subprotocol = subprotocol
        self.tls = tls
        self.events = events
    }
}
