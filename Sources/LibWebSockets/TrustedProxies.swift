/// The proxies in front of a listener, whose word for the client's address is taken.
///
/// A proxy tells the address in a PROXY protocol header before the connection's first byte, in `X-Forwarded-For` of each
/// request, or in both: the header may name another proxy, which sent the request.
public struct TrustedProxies: Equatable, Sendable {
    public var addresses: [AddressRange]
    /// Whether each connection of a proxy begins with a PROXY protocol header.
    public var sendHeaders: Bool

    public init(addresses: [AddressRange] = [], sendHeaders: Bool = false) {
        self.addresses = addresses
        self.sendHeaders = sendHeaders
    }

    package func contains(_ peer: PeerAddress) -> Bool { addresses.contains { $0.contains(peer) } }

    /// The client of a request from the proxy at `peer`: the rightmost address of `X-Forwarded-For` that is no proxy.
    /// The client can forge the entries before it.
    package func client(behind peer: PeerAddress, _ forwardedFor: String?) -> PeerAddress {
        var client = peer
        for entry in (forwardedFor ?? "").split(separator: ",", omittingEmptySubsequences: false).reversed() {
            let text = entry.drop { $0 == " " }.prefix { $0 != " " }
            guard let address = PeerAddress(numeric: text) else { return client }
            client = address
            guard contains(address) else { return client }
        }
        return client
    }
}
