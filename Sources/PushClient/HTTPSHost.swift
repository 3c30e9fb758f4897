/// A host that speaks HTTP/2 over TLS.
struct HTTPSHost: Equatable, Sendable {
    let name: String
    let port: UInt16

    /// The authority in requests.
    var authority: String { port == 443 ? name : "\(name):\(port)" }
}
