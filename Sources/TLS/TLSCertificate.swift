import COpenSSL
import Glibc

/// A ``TLSFiles`` as it was read into memory and found good: what a listener shows in its handshakes. The files may
/// change afterwards. Any thread.
public final class TLSCertificate: Sendable {
    /// Which file is of no use, and why.
    public struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        public let file: String
        public let problem: String

        public var description: String { "\(file): \(problem)" }
    }

    public let identity: TLSFiles
    /// Its own, then the intermediate ones.
    public let list: TLSCertificateList
    // Proof for the three: set in init and only read afterwards; OpenSSL counts their references atomically.
    /// As in ``list``.
    private nonisolated(unsafe) let certificates: [OpaquePointer]
    /// nil only in an init that throws.
    private nonisolated(unsafe) let key: OpaquePointer?
    private nonisolated(unsafe) let chain: OpaquePointer?

    /// Reads both files and checks that they can be used together now. Blocks on the disk.
    /// - Parameter mayBeExpired: for a listener that starts. The settings refuse an expired certificate before, but it may
    ///   expire while a server stands by, and a take-over has to serve.
    /// - Throws: ``Failure``.
    public init(_ identity: TLSFiles, mayBeExpired: Bool = false) throws(Failure) {
        self.identity = identity
        certificates = Self.certificates(in: identity.certificateFile)
        key = Self.key(in: identity.keyFile)
        chain = OPENSSL_sk_new_null()
        for certificate in certificates.dropFirst() { OPENSSL_sk_push(chain, UnsafeRawPointer(certificate)) }
        list = TLSCertificateList(certificates)
        // All is set from here on, so that what throws below frees it.
        try check(mayBeExpired: mayBeExpired)
    }

    deinit {
        for certificate in certificates { X509_free(certificate) }
        EVP_PKEY_free(key)
        OPENSSL_sk_free(chain)
    }

    /// When the first of its certificates ends, in seconds since 1970.
    public var expiresAt: Int64 { list.firstToEnd?.expiresAt ?? 0 }

    /// Has one handshake show this certificate and no other.
    /// - Returns: whether OpenSSL takes it.
    package func install(in handshake: OpaquePointer) -> Bool {
        // One of another kind of key would stay beside it otherwise, and be chosen by clients that prefer that kind.
        SSL_certs_clear(handshake)
        return SSL_use_cert_and_key(handshake, certificates[0], key, chain, 1) == 1
    }

    // MARK: Checks

    private func check(mayBeExpired: Bool) throws(Failure) {
        let (certificateFile, keyFile) = (identity.certificateFile, identity.keyFile)
        try Self.checkAccess(certificateFile)
        try Self.checkAccess(keyFile)
        guard let certificate = certificates.first else {
            throw Failure(file: certificateFile, problem: "this holds no certificate in PEM")
        }
        guard let key else {
            throw Failure(file: keyFile, problem: "this holds no private key in PEM that needs no passphrase")
        }
        guard X509_check_private_key(certificate, key) == 1 else {
            throw Failure(file: keyFile, problem: "the key does not belong to the certificate in \(certificateFile)")
        }
        // The others are a problem, and are not refused: not every client needs each of them.
        if let own = list.entries.first {
            let now = Int64(time(nil))
            if own.expiresAt <= now, !mayBeExpired {
                throw Failure(
                    file: certificateFile, problem: "\(own.name) expired on \(Self.day(own.expiresAt)); get a new one")
            }
            if own.beginsAt > now {
                throw Failure(
                    file: certificateFile,
                    problem: "\(own.name) is good from \(Self.day(own.beginsAt)) on only; check this machine's clock")
            }
        }
        try tryOut(certificateFile)
    }

    /// OpenSSL has rules of its own, such as for keys that are too short.
    private func tryOut(_ file: String) throws(Failure) {
        ERR_clear_error()
        let context = SSL_CTX_new(TLS_server_method())
        defer { SSL_CTX_free(context) }
        guard SSL_CTX_use_cert_and_key(context, certificates[0], key, chain, 1) == 1 else {
            let reason = ERR_reason_error_string(ERR_get_error()).map { String(cString: $0) }
            throw Failure(file: file, problem: "OpenSSL does not take it: \(reason ?? "it gives no reason")")
        }
    }

    static func checkAccess(_ file: String) throws(Failure) {
        guard access(file, R_OK) != 0 else { return }
        throw Failure(file: file, problem: String(cString: strerror(errno)))
    }

    // MARK: Reading

    /// Empty when there is none, or one of them cannot be read.
    static func certificates(in file: String) -> [OpaquePointer] {
        guard let source = BIO_new_file(file, "r") else { return [] }
        defer { BIO_free(source) }
        defer { ERR_clear_error() }
        return readCertificates(source) ?? []
    }

    private static func key(in file: String) -> OpaquePointer? {
        guard let source = BIO_new_file(file, "r") else { return nil }
        defer { BIO_free(source) }
        defer { ERR_clear_error() }
        return PEM_read_bio_PrivateKey(source, nil, refusePassphrase, nil)
    }

    private static func day(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
    }
}
