/// The certificate that a client presented in the TLS handshake.
public struct TLSPeerCertificate: Equatable, Sendable {
    /// In DER.
    public let der: [UInt8]
    /// Whether the certificate is valid now and the server's authority issued it.
    public let isTrusted: Bool
}
