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

    /// What `X-Forwarded-For` says.
    package struct Forwarded {
        package var client: PeerAddress
        /// The beginning of the entry that is no address, before which nothing was read; nil if there is none.
        package var unreadable: String?
        /// Whether the proxy says nothing, so that the client is the proxy.
        package var isMissing = false
    }

    /// The most characters of an unreadable entry.
    private static let longestShown = 64

    /// The client of a request from the proxy at `peer`: the rightmost address of `X-Forwarded-For` that is no proxy.
    /// The client can forge the entries before it.
    package func forwarded(behind peer: PeerAddress, _ forwardedFor: String?) -> Forwarded {
        var client = peer
        guard let forwardedFor, !forwardedFor.isEmpty else {
            // What passes the bytes of a connection on cannot add the field: its header has named the client.
            return Forwarded(client: client, isMissing: !sendHeaders)
        }
        for entry in forwardedFor.split(separator: ",", omittingEmptySubsequences: false).reversed() {
            let text = entry.drop(while: Self.isBlank).prefix { !Self.isBlank($0) }
            guard let address = PeerAddress(withPort: text) else {
                return Forwarded(client: client, unreadable: String(entry.prefix(Self.longestShown)))
            }
            client = address
            guard contains(address) else { break }
        }
        return Forwarded(client: client)
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
}
