import TLS

/// What a server context serves. It does not listen: it takes over accepted descriptors.
public struct ServerRole {
    let path: String
    let subprotocol: String
    let proxies: ProxyTrust
    /// The longest message taken, in bytes.
    let maxFrameBytes: Int
    /// What is served to a connection that came when all places were taken; everything else is answered with 503.
    let reservedPaths: Set<String>
    /// What it begins with.
    let tls: TLSCertificate?
    /// Proof for `unowned(unsafe)`: the handler owns the context and destroys it before it goes.
    unowned(unsafe) let events: any ServerSocketEvents

    package init(
        path: String, subprotocol: String, proxies: ProxyTrust = .nobody, maxFrameBytes: Int = 65_536,
        reservedPaths: Set<String> = [], tls: TLSCertificate?, events: any ServerSocketEvents
    ) {
        self.path = path
        self.subprotocol = subprotocol
        self.proxies = proxies
        self.maxFrameBytes = maxFrameBytes
        self.reservedPaths = reservedPaths
        self.tls = tls
        self.events = events
    }
}

/// Which peers are proxies that name their clients in `X-Forwarded-For`.
public enum ProxyTrust: Sendable {
    case nobody
    /// Those that connect over a loopback address, and those in these ranges.
    case thisMachine(and: [AddressRange] = [])

    func isTrusted(_ peer: PeerAddress) -> Bool {
        switch self {
        case .nobody: false
        case .thisMachine(let ranges): peer.isLocal || ranges.contains { $0.contains(peer) }
        }
    }
}
