/// The paths of a server's certificate chain and private key, in PEM.
public struct TLSFiles: Sendable {
    public let certificateFile: String
    public let keyFile: String

    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
