import Foundation
import HTTP2
import LibWebSockets
import TLS

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
        let certificates = certificates(chain, path: certificatePath)
        let isKey = checkKey(key, path: keyPath)
        guard let certificates, isKey else { return nil }
        checkValidity(of: certificates, path: certificatePath)
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

    private mutating func certificates(_ pem: String, path: String) -> TLSCertificateList? {
        if let certificates = try? TLSCertificateList(pem: pem) { return certificates }
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

    private mutating func checkValidity(of certificates: TLSCertificateList, path: String) {
        // It has at least one.
        guard let first = certificates.firstToEnd, let own = certificates.entries.first else { return }
        func place(_ entry: TLSCertificateList.Entry) -> String { entry.number == 1 ? path : "\(path): \(entry.name)" }
        let left = Self.time(until: first.expiresAt)
        if Self.time(until: own.expiresAt) <= 0 {
            fault(
                .content, .tlsCertificate, "\(path) has expired on \(Self.day(own.expiresAt))",
                "clients refuse it: renew it and send SIGHUP")
        } else if left <= 0 {
            fault(
                .expiry, .tlsCertificate, "\(place(first)) has expired on \(Self.day(first.expiresAt))",
                "clients that need it refuse the server: renew it, or leave it out, and send SIGHUP")
        } else if left < Self.warningTime {
            fault(
                .expiry, .tlsCertificate, "\(place(first)) expires on \(Self.day(first.expiresAt))",
                "renew it and send SIGHUP")
        } else if Self.time(until: own.beginsAt) > 0 {
            fault(
                .content, .tlsCertificate, "\(path) is not valid before \(Self.day(own.beginsAt))",
                "clients refuse it until then: check the clock of this machine")
        }
        if let problem = certificates.chainProblem {
            fault(
                .warning, .tlsCertificate, "\(path): \(problem)",
                "clients that do not know the issuer refuse it: give the whole chain, such as fullchain.pem")
        }
    }

    /// Warns only: others of the file may be in use.
    mutating func warnOfAuthorities(_ authorities: TLSCertificateList, path: String) {
        for authority in authorities.entries {
            let (left, day) = (Self.time(until: authority.expiresAt), Self.day(authority.expiresAt))
            if left <= 0 {
                fault(
                    .expiry, .adminClientCA, "\(path): \(authority.name) has expired on \(day)",
                    "its administrators cannot connect: renew or remove it and restart")
            } else if left < Self.warningTime {
                fault(
                    .expiry, .adminClientCA, "\(path): \(authority.name) expires on \(day)", "renew it and restart")
            }
        }
    }

    /// In seconds.
    /// - Parameter seconds: since 1970.
    private static func time(until seconds: Int64) -> TimeInterval {
        TimeInterval(seconds) - Date().timeIntervalSince1970
    }

    private static func day(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601.year().month().day())
    }
}
