import COpenSSL

/// A client's TLS configuration: trust anchors, identity and protocol. At least TLS 1.2. One context serves any number
/// of connections on any threads.
public final class TLSClientContext: Sendable {
    public enum Trust: Equatable, Sendable {
        /// The system's trust anchors (`/etc/ssl/certs`, or `SSL_CERT_FILE`).
        case system
        /// Only the certificates in this PEM file.
        case certificateAuthority(file: String)
        /// Only the certificates in this PEM text.
        case certificateAuthorityPEM(String)
    }

    // Proof: configured in init and only read afterwards. SSL_new, its one user, is safe from any thread
    // (openssl-threads(7): an SSL_CTX may be shared once it is set up).
    nonisolated(unsafe) let raw: OpaquePointer
    let application: TLSApplication

    /// - Parameter identity: a client certificate, such as a VoIP Services certificate of Apple's.
    /// - Throws: ``TLSFailure`` when a certificate or key cannot be read or does not fit.
    public init(trust: Trust, identity: TLSIdentity? = nil, speaking application: TLSApplication = .http2) throws {
        self.application = application
        raw = try makeTLSContext(TLS_client_method())
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
        let offer = application.offer
        guard SSL_CTX_set_alpn_protos(raw, offer, UInt32(offer.count)) == 0 else {
            throw TLSFailure.ofTLS("offer \(application.rawValue) by ALPN")
        }
        switch trust {
        case .system:
            guard SSL_CTX_set_default_verify_paths(raw) == 1 else {
                throw TLSFailure.ofTLS("load the system's certificate authorities")
            }
        case .certificateAuthority(let file):
            ERR_clear_error()
            guard SSL_CTX_load_verify_file(raw, file) == 1 else {
                throw TLSFailure.ofTLS("load the certificate authority from \(file)")
            }
        case .certificateAuthorityPEM(let pem):
            let certificates = try TLSCertificates(pem: pem, operation: "read the certificate authority")
            let store = SSL_CTX_get_cert_store(raw)
            for certificate in certificates.all where X509_STORE_add_cert(store, certificate) != 1 {
                throw TLSFailure.ofTLS("trust the certificate authority")
            }
        }
        try identity?.install(in: raw)
    }

    deinit { SSL_CTX_free(raw) }

    /// For HTTP/1, with the system's trust anchors. They are read once in a process, which takes 20 ms.
    public static let webClient = Result { try TLSClientContext(trust: .system, speaking: .http1) }
}

/// The settings that both ends share.
func makeTLSContext(_ method: OpaquePointer?) throws -> OpaquePointer {
    ERR_clear_error()
    guard let context = SSL_CTX_new(method) else { throw TLSFailure.ofTLS("create a TLS context") }
    limitTLS(context)
    return context
}

/// Records without data that a peer may send after the handshake. A server sends some tickets, and a key is renewed after
/// many gigabytes at the earliest (RFC 8446 §5.5).
private let mostRecordsWithoutData: UInt32 = 32

/// Allows TLS 1.2 and 1.3 with forward secrecy and authenticated encryption (AEAD) only: RFC 9325, sections 3.1 and 4.2.
/// Ends a connection whose peer keeps OpenSSL busy without sending data.
/// - Parameter context: an `SSL_CTX` without connections yet.
public func limitTLS(_ context: OpaquePointer) {
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    // Of TLS 1.2; those of 1.3 all have both properties.
    let isKnown = SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20")
    precondition(isKnown == 1, "OpenSSL has these ciphers since 1.1.0")
    // Idle connections free their record buffers: 34 kB each.
    SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
    reveille_SSL_CTX_harden(context)
    reveille_SSL_CTX_bound_records(context, mostRecordsWithoutData)
}
