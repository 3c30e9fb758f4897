import COpenSSL
import Glibc

/// What the certificates of a file in PEM say of themselves, in the file's order.
public struct TLSCertificateList: Equatable, Sendable {
    public struct Entry: Equatable, Sendable {
        /// Its place in the file, from 1.
        public let number: Int
        /// `/O=Example/CN=R11`
        public let subject: String
        /// The begin and the end of its validity, in seconds since 1970.
        public let beginsAt: Int64
        public let expiresAt: Int64

        /// For people. The first one of a file is that of the file's owner.
        public var name: String { number == 1 ? "the certificate" : "certificate \(number) of the file (\(subject))" }
    }

    public let entries: [Entry]
    /// Why clients may find no way from the first certificate to an authority; nil for no such reason.
    public let chainProblem: String?

    /// - Throws: ``TLSFailure`` when there is no certificate, or one cannot be read.
    public init(pem: String) throws {
        let certificates = try TLSCertificates(pem: pem, operation: "read the certificates")
        self.init(certificates.all)
    }

    init(_ certificates: [OpaquePointer]) {
        entries = certificates.enumerated().map { index, certificate in
            Entry(
                number: index + 1, subject: Self.text(X509_get_subject_name(certificate)),
                beginsAt: Self.seconds(X509_get0_notBefore(certificate)) ?? 0,
                expiresAt: Self.seconds(X509_get0_notAfter(certificate)) ?? 0)
        }
        chainProblem = Self.chainProblem(certificates, entries)
    }

    /// The one that ends first: from then on clients refuse the file's owner. nil only for an empty list.
    public var firstToEnd: Entry? { entries.min { $0.expiresAt < $1.expiresAt } }

    /// RFC 5246, 7.4.2: each certificate certifies the one before it. Only the authority's own may be left out.
    private static func chainProblem(_ certificates: [OpaquePointer], _ entries: [Entry]) -> String? {
        for index in certificates.indices.dropFirst() where !hasSigned(certificates[index], certificates[index - 1]) {
            return "\(entries[index].name) has not signed the one before it"
        }
        guard certificates.count == 1, let only = certificates.first else { return nil }
        let (issuer, subject) = (X509_get_issuer_name(only), X509_get_subject_name(only))
        guard X509_NAME_cmp(issuer, subject) != 0 else { return nil }
        return "the certificate stands alone, without that of its issuer (\(text(issuer)))"
    }

    private static func hasSigned(_ issuer: OpaquePointer, _ certificate: OpaquePointer) -> Bool {
        defer { ERR_clear_error() }
        guard X509_NAME_cmp(X509_get_subject_name(issuer), X509_get_issuer_name(certificate)) == 0,
            let key = X509_get0_pubkey(issuer)
        else { return false }
        return X509_verify(certificate, key) == 1
    }

    /// In ASCII, and at most 255 characters of it.
    private static func text(_ name: OpaquePointer?) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer -> String in
            guard let start = buffer.baseAddress, X509_NAME_oneline(name, start, Int32(buffer.count)) != nil else {
                return "?"
            }
            return String(cString: start)
        }
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(timegm(&parts))
    }
}
