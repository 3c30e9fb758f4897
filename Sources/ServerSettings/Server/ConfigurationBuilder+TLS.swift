import Foundation
import HTTP2
import LibWebSockets
import SwiftASN1
import TLS
import X509

/// The clients' listener's certificate and key.
extension ConfigurationBuilder {
    /// nil without a certificate, or with a fault when it is unusable.
    mutating func tlsIdentity() -> TLSFiles? {
        switch (settings.isSet(.tlsCertificate), settings.isSet(.tlsKey)) {
        case (false, false): return nil
        case (true, false):
            fault(.tlsCertificate, "is of no use without tls.key", "give both, or neither")
            return nil
        case (false, true):
            fault(.tlsKey, "is of no use without tls.certificate", "give both, or neither")
            return nil
        case (true, true): break
        }
        // Not there: they were given, and their faults are known.
        guard let certificatePath = settings.text(.tlsCertificate), let keyPath = settings.text(.tlsKey) else {
            return nil
        }
        let chain = file(certificatePath, .tlsCertificate, isPrivate: false)
        let key = file(keyPath, .tlsKey, isPrivate: true)
        guard let chain, let key else { return nil }
        let certificate = certificate(chain, path: certificatePath)
        let isKey = checkKey(key, path: keyPath)
        guard let certificate, isKey else { return nil }
        warnOfExpiry(certificate, path: certificatePath)
        do {
            _ = try TLSServerContext(identity: TLSIdentity(certificateChainPEM: chain, privateKeyPEM: key))
        } catch {
            fault(
                .content, .tlsKey, "\(keyPath) is not the key of \(certificatePath) (\(error))",
                "give the key that the certificate was made for")
            return nil
        }
        return TLSFiles(certificateFile: certificatePath, keyFile: keyPath)
    }

    private mutating func certificate(_ pem: String, path: String) -> Certificate? {
        let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
        if let start = pem.range(of: begin), let stop = pem.range(of: end, range: start.upperBound..<pem.endIndex),
            let certificate = try? Certificate(pemEncoded: String(pem[start.lowerBound..<stop.upperBound]))
        {
            return certificate
        }
        fault(
            .content, .tlsCertificate, "\(path) holds no certificate in PEM",
            "give a file with -----BEGIN CERTIFICATE-----")
        return nil
    }

    private mutating func checkKey(_ pem: String, path: String) -> Bool {
        if pem.contains("ENCRYPTED") {
            fault(
                .content, .tlsKey, "\(path) is encrypted, and nobody is there to give the passphrase",
                "decrypt it with: openssl pkey -in \(path) -out FILE")
            return false
        }
        if pem.contains("PRIVATE KEY-----") { return true }
        fault(
            .content, .tlsKey, "\(path) holds no private key in PEM",
            "give a file with -----BEGIN PRIVATE KEY-----")
        return false
    }

    /// How long before the expiry warnings begin; automatic renewals come 30 days before it.
    private static let warningTime: TimeInterval = 21 * 24 * 3600

    private mutating func warnOfExpiry(_ certificate: Certificate, path: String) {
        let now = Date()
        let (start, end) = (certificate.notValidBefore, certificate.notValidAfter)
        if end <= now {
            fault(
                .content, .tlsCertificate, "\(path) has expired on \(Self.day(end))",
                "clients refuse it: renew it and send SIGHUP")
        } else if end.timeIntervalSince(now) < Self.warningTime {
            fault(
                .expiry, .tlsCertificate, "\(path) expires on \(Self.day(end))", "renew it and send SIGHUP")
        } else if start > now {
            fault(
                .content, .tlsCertificate, "\(path) is not valid before \(Self.day(start))",
                "clients refuse it until then: check the clock of this machine")
        }
    }

    private static func day(_ date: Date) -> String { date.formatted(.iso8601.year().month().day()) }
}
