import COpenSSL

/// The authorities whose certificates a listener asks of its clients. A client without one, or with one that names
/// nobody on the list, fails the handshake. Any thread.
public final class ClientAuthorities: Sendable {
    /// An authority whose certificate has ended lets in nobody.
    public let list: TLSCertificateList
    // Proof: set in init and only read afterwards; OpenSSL counts their references atomically.
    private nonisolated(unsafe) let certificates: [OpaquePointer]
    /// Common names or DNS names; empty lets in every client with a certificate.
    private let names: [String]

    /// Blocks on the disk.
    /// - Parameter file: one or more certificates in PEM.
    /// - Throws: `TLSCertificate.Failure` for a file without certificates.
    public init(file: String, names: [String] = []) throws(TLSCertificate.Failure) {
        certificates = TLSCertificate.certificates(in: file)
        list = TLSCertificateList(certificates)
        self.names = names
        try TLSCertificate.checkAccess(file)
        if certificates.isEmpty {
            throw TLSCertificate.Failure(file: file, problem: "this holds no certificate in PEM")
        }
    }

    deinit { for certificate in certificates { X509_free(certificate) } }

    /// Sets up a server's context. The caller retains this for as long as the context is used.
    /// - Parameter context: an `SSL_CTX` without connections yet.
    package func require(of context: OpaquePointer) {
        let store = SSL_CTX_get_cert_store(context)
        for certificate in certificates {
            let isKnown =
                X509_STORE_add_cert(store, certificate) == 1 && SSL_CTX_add_client_CA(context, certificate) == 1
            precondition(isKnown, "OpenSSL refuses a certificate only without memory")
        }
        // Resumed sessions keep the certificate of their first handshake; OpenSSL requires a session context for them.
        let name = Array("reveille".utf8)
        SSL_CTX_set_session_id_context(context, name, UInt32(name.count))
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        SSL_CTX_set_cert_verify_callback(context, verifyClient, Unmanaged.passUnretained(self).toOpaque())
    }

    /// - Parameter certificate: of a client; its chain is verified.
    fileprivate func admits(_ certificate: OpaquePointer?) -> Bool {
        // The common name too where there are DNS names; no wildcards.
        let flags = UInt32(X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS)
        return names.isEmpty || names.contains { X509_check_host(certificate, $0, $0.utf8.count, flags, nil) == 1 }
    }
}

/// - Returns: 1 to continue the handshake, 0 to fail it.
private func verifyClient(_ chain: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let chain, let argument, X509_verify_cert(chain) == 1 else { return 0 }
    let authorities = Unmanaged<ClientAuthorities>.fromOpaque(argument).takeUnretainedValue()
    if authorities.admits(X509_STORE_CTX_get0_cert(chain)) { return 1 }
    X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION)
    return 0
}
