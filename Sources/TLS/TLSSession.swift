import COpenSSL

/// One TLS connection without I/O: ciphertext passes through memory buffers, plaintext through calls.
///
/// OpenSSL's error queue belongs to the thread. Each operation clears it first, and so reads only its own errors.
package final class TLSSession {
    package enum Reading {
        /// The number of plaintext bytes read.
        case bytes(Int)
        /// More ciphertext is required.
        case needsInput
        /// The peer has sent close_notify.
        case ended
    }

    private let ssl: OpaquePointer
    /// Memory BIOs for ciphertext from and to the peer. Owned by `ssl`.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private let handshakeOperation: String
    /// The protocol that the server must agree on; nil for a server, which accepts clients without ALPN.
    private let wanted: TLSApplication?
    package private(set) var isEstablished = false

    /// - Parameter serverName: the name that the peer's certificate must contain.
    package init(client context: TLSClientContext, serverName: String) throws {
        (ssl, incoming, outgoing) = try withExtendedLifetime(context) { try makeSession(context.raw) }
        handshakeOperation = "TLS handshake with \(serverName)"
        wanted = context.application
        SSL_set_connect_state(ssl)
        // Succeeds for numeric addresses only: certificates have a separate field for addresses, and SNI allows none.
        let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName) == 1
        guard !isAddress else { return }
        SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        let isNamed =
            SSL_set1_host(ssl, serverName) == 1
            && serverName.withCString { name in
                // OpenSSL copies the name; the parameter lacks const only because SSL_ctrl is generic.
                let name = UnsafeMutableRawPointer(mutating: name)
                return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), name) == 1
            }
        // `deinit` frees `ssl`: every stored property is set.
        guard isNamed else { throw TLSFailure.ofTLS("ask for the server name \(serverName)") }
    }

    package init(server context: TLSServerContext) throws {
        (ssl, incoming, outgoing) = try withExtendedLifetime(context) { try makeSession(context.raw) }
        handshakeOperation = "TLS handshake with a client"
        wanted = nil
        SSL_set_accept_state(ssl)
    }

    deinit { SSL_free(ssl) }

    /// Takes ciphertext from the peer.
    package func receive(_ ciphertext: UnsafeRawBufferPointer) {
        // A memory BIO grows as needed; it fails only when memory runs out.
        let taken = BIO_write(incoming, ciphertext.baseAddress, Int32(ciphertext.count))
        precondition(taken == Int32(ciphertext.count), "out of memory for \(ciphertext.count) bytes of TLS input")
    }

    /// Continues the handshake as far as the input allows.
    /// - Returns: whether it is complete.
    package func handshake() throws -> Bool {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            guard hasAgreed else {
                throw TLSFailure(
                    operation: handshakeOperation, reason: .noAgreement,
                    text: "the peer did not agree on \((wanted ?? .http2).rawValue) by ALPN")
            }
            isEstablished = true
            return true
        }
        if SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ { return false }
        let verification = SSL_get_verify_result(ssl)
        if verification != Int(X509_V_OK) {
            let text = String(cString: X509_verify_cert_error_string(verification))
            throw TLSFailure(
                operation: handshakeOperation, reason: .certificateRejected(code: verification),
                text: "the certificate is not accepted: \(text)")
        }
        throw TLSFailure.ofTLS(handshakeOperation)
    }

    /// The client's certificate, on a server that requests one.
    package var peerCertificate: TLSPeerCertificate? {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
        defer { X509_free(certificate) }
        let count = Int(i2d_X509(certificate, nil))
        guard count > 0 else { return nil }
        let der = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            // OpenSSL moves its copy of the pointer to the end of what it wrote.
            var end = buffer.baseAddress
            filled = max(0, Int(i2d_X509(certificate, &end)))
        }
        return TLSPeerCertificate(der: der, isTrusted: SSL_get_verify_result(ssl) == Int(X509_V_OK))
    }

    private var hasAgreed: Bool {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        // A client without ALPN is accepted, as Apple's servers accept aioapns 2.2; ``TLSServerContext`` refuses other
        // offers before. Without ALPN, the protocol is HTTP/1.1.
        if wanted != .http2, length == 0 { return true }
        let expected = wanted ?? .http2
        return UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual(expected.rawValue.utf8)
    }

    /// Reads one record's plaintext.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Reading {
        ERR_clear_error()
        let count = SSL_read(ssl, buffer.baseAddress, Int32(buffer.count))
        if count > 0 { return .bytes(Int(count)) }
        switch SSL_get_error(ssl, count) {
        case SSL_ERROR_WANT_READ: return .needsInput
        case SSL_ERROR_ZERO_RETURN: return .ended
        default: throw TLSFailure.ofTLS("read from TLS")
        }
    }

    /// Encrypts the plaintext, with one record for each 16 KiB or less.
    package func write(_ plaintext: UnsafeRawBufferPointer) throws {
        guard !plaintext.isEmpty else { return }
        ERR_clear_error()
        // A memory BIO accepts all bytes at once.
        let count = SSL_write(ssl, plaintext.baseAddress, Int32(plaintext.count))
        guard count == Int32(plaintext.count) else { throw TLSFailure.ofTLS("write to TLS") }
    }

    /// Sends close_notify without waiting for the peer's: RFC 8446 §6.1 permits each end to close its own direction.
    package func shutDown() {
        guard isEstablished else { return }
        ERR_clear_error()
        SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// The number of ciphertext bytes to send.
    package var outgoingCount: Int { withExtendedLifetime(self) { BIO_ctrl_pending(outgoing) } }

    /// Passes the ciphertext to send to `body`, where it is valid during the call, and clears it.
    package func takeOutgoing(_ body: (UnsafeRawBufferPointer) -> Void) {
        // The expansions of the macros BIO_get_mem_data and BIO_reset.
        var start: UnsafeMutableRawPointer?
        let count = BIO_ctrl(outgoing, BIO_CTRL_INFO, 0, &start)
        guard count > 0 else { return }
        body(UnsafeRawBufferPointer(start: start, count: count))
        BIO_ctrl(outgoing, BIO_CTRL_RESET, 0, nil)
    }
}

@available(*, unavailable)
extension TLSSession: Sendable {}

private func makeSession(
    _ context: OpaquePointer
) throws -> (ssl: OpaquePointer, incoming: OpaquePointer, outgoing: OpaquePointer) {
    ERR_clear_error()
    guard let ssl = SSL_new(context) else { throw TLSFailure.ofTLS("create a TLS session") }
    guard let incoming = BIO_new(BIO_s_mem()) else {
        SSL_free(ssl)
        throw TLSFailure.ofTLS("create a TLS session")
    }
    guard let outgoing = BIO_new(BIO_s_mem()) else {
        BIO_free(incoming)
        SSL_free(ssl)
        throw TLSFailure.ofTLS("create a TLS session")
    }
    // Takes ownership of both BIOs.
    SSL_set_bio(ssl, incoming, outgoing)
    return (ssl, incoming, outgoing)
}
