/// The certificate chain and the private key of a server, as paths of PEM files.
public struct TLSIdentity: Sendable {
    public let certificateFile: String
    public let keyFile: String

    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
