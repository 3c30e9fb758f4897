import COpenSSL

/// A server's TLS configuration: at least TLS 1.2, ALPN `h2` or none. One context serves any number of connections on
/// any threads.
public final class TLSServerContext: Sendable {
    // Proof: configured in init and only read afterwards. SSL_new, its one user, is safe from any thread
    // (openssl-threads(7): an SSL_CTX may be shared once it is set up).
    nonisolated(unsafe) let raw: OpaquePointer

    /// - Parameters:
    ///   - certificateChainPEM: the server's certificate first, then the intermediate certificates in order.
    ///   - privateKeyPEM: its key, unencrypted.
    /// - Throws: ``TLSFailure`` when one cannot be read, or the key does not match the certificate.
    public convenience init(certificateChainPEM: String, privateKeyPEM: String) throws {
        try self.init(identity: TLSIdentity(certificateChainPEM: certificateChainPEM, privateKeyPEM: privateKeyPEM))
    }

    /// - Parameter clientAuthorityPEM: requests client certificates of this authority. The handshake also succeeds
    ///   without one, or with one of another authority; the owner checks `HTTP2ServerConnection.clientCertificate`.
    public init(identity: TLSIdentity, clientAuthorityPEM: String? = nil) throws {
        raw = try makeTLSContext(TLS_server_method())
        SSL_CTX_set_alpn_select_cb(raw, selectProtocol, nil)
        try identity.install(in: raw)
        guard let clientAuthorityPEM else { return }
        let authorities = try TLSCertificates(pem: clientAuthorityPEM, operation: "read the clients' authority")
        for authority in authorities.all {
            guard X509_STORE_add_cert(SSL_CTX_get_cert_store(raw), authority) == 1,
                SSL_CTX_add_client_CA(raw, authority) == 1
            else { throw TLSFailure.ofTLS("ask for client certificates") }
        }
        // Resumed sessions keep the certificate of their first handshake; OpenSSL requires a session context for them.
        let name = Array("reveille".utf8)
        SSL_CTX_set_session_id_context(raw, name, UInt32(name.count))
        // The session keeps the result of the verification, whatever the callback returns.
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER) { _, _ in 1 }
    }

    deinit { SSL_CTX_free(raw) }
}

/// Takes `h2` or ends the handshake with the alert no_application_protocol, as RFC 7301 §3.2 has it.
private func selectProtocol(
    _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenLength: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    var rest = UnsafeBufferPointer(start: offered, count: Int(offeredLength))[...]
    while let length = rest.first {
        let name = rest.dropFirst().prefix(Int(length))
        if name.elementsEqual(TLSApplication.http2.rawValue.utf8) {
            // The offer outlives the call, as the callback's contract wants of what it chooses.
            chosen?.pointee = UnsafeBufferPointer(rebasing: name).baseAddress
            chosenLength?.pointee = length
            return SSL_TLSEXT_ERR_OK
        }
        rest = rest.dropFirst(1 + Int(length))
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
