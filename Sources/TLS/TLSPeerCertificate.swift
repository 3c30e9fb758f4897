/// The certificate that a client has shown in the TLS handshake.
public struct TLSPeerCertificate: Equatable, Sendable {
    /// In DER.
    public let der: [UInt8]
    /// Whether it is valid now and comes from the authority that the server names.
    public let isTrusted: Bool
}
