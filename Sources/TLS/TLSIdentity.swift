import COpenSSL

/// The certificate chain and private key of one end of a TLS connection, in PEM.
public struct TLSIdentity: Equatable, Sendable {
    /// The own certificate first, then the intermediate certificates in order.
    public let certificateChainPEM: String
    /// PKCS #8 or an older form, unencrypted.
    public let privateKeyPEM: String

    public init(certificateChainPEM: String, privateKeyPEM: String) {
        self.certificateChainPEM = certificateChainPEM
        self.privateKeyPEM = privateKeyPEM
    }

    func install(in context: OpaquePointer) throws {
        let certificates = try TLSCertificates(pem: certificateChainPEM, operation: "read the certificate chain")
        for (index, certificate) in certificates.all.enumerated() {
            // Neither call takes ownership: SSL_CTX_use_certificate and "add1" retain the certificate.
            let result =
                index == 0
                ? Int(SSL_CTX_use_certificate(context, certificate))
                : SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate))
            guard result == 1 else { throw TLSFailure.ofTLS("use the certificate chain") }
        }
        ERR_clear_error()
        let key = withMemoryBIO(privateKeyPEM) { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) }
        guard let key else { throw TLSFailure.ofTLS("read the private key") }
        defer { EVP_PKEY_free(key) }
        guard SSL_CTX_use_PrivateKey(context, key) == 1, SSL_CTX_check_private_key(context) == 1 else {
            throw TLSFailure.ofTLS("use the private key (does it belong to the first certificate?)")
        }
    }
}

extension TLSIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Redacts the key. The chain is redacted too, because its text may contain the key.
    public var description: String { "TLSIdentity(\(certificateChainPEM.utf8.count) bytes of PEM, key ‹redacted›)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The certificates of a PEM text. `deinit` frees them.
struct TLSCertificates: ~Copyable {
    let all: [OpaquePointer]

    /// - Throws: ``TLSFailure`` when there is no certificate, or one cannot be read.
    init(pem: String, operation: String) throws {
        guard let found = withMemoryBIO(pem, readCertificates), !found.isEmpty else {
            throw TLSFailure.ofTLS(operation)
        }
        all = found
    }

    deinit {
        for certificate in all { X509_free(certificate) }
    }
}

/// Reads all certificates of a PEM text.
/// - Returns: nil, with OpenSSL's reason in the thread's queue, when one is broken. The caller frees them.
func readCertificates(_ source: OpaquePointer) -> [OpaquePointer]? {
    ERR_clear_error()
    var found: [OpaquePointer] = []
    while let certificate = PEM_read_bio_X509(source, nil, refusePassphrase, nil) { found.append(certificate) }
    // Reading ends with "no start line" at the end of the text; anything else is a broken certificate.
    guard reveille_is_pem_end(ERR_peek_last_error()) == 1 else {
        for certificate in found { X509_free(certificate) }
        return nil
    }
    if !found.isEmpty { ERR_clear_error() }
    return found
}

private func withMemoryBIO<Result>(_ text: String, _ body: (OpaquePointer) -> Result) -> Result {
    var text = text
    return text.withUTF8 { bytes in
        // nil only when memory runs out. The BIO reads `bytes` in place and is freed before them.
        let source = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))!
        defer { BIO_free(source) }
        return body(source)
    }
}

/// Without this callback, OpenSSL asks on the terminal for the passphrase of an encrypted key.
func refusePassphrase(
    _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { -1 }
