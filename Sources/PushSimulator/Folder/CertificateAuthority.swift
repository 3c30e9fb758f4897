import FoundationEssentials
import Glibc
import JWTKit
import SwiftASN1
import X509

/// A certificate authority of the simulator's own, for the one server certificate it needs.
struct CertificateAuthority {
    struct Identity: Sendable {
        let certificatePEM: String
        let keyPEM: String
    }

    private static let authorityLifetime: TimeInterval = 10 * 365 * 86_400
    private static let serverLifetime: TimeInterval = 397 * 86_400
    /// Certificates are valid from a little earlier on, for peers whose clock is behind.
    private static let backdating: TimeInterval = 3600

    let certificatePEM: String
    let keyPEM: String
    private let certificate: Certificate
    private let key: Certificate.PrivateKey

    /// Makes a new one.
    init() throws {
        let keyPEM = ES256PrivateKey().pemRepresentation
        let key = try Certificate.PrivateKey(pemEncoded: keyPEM)
        let name = try DistinguishedName {
            OrganizationName("Reveille")
            CommonName("Reveille push simulator CA \(UInt32.random(in: 0...UInt32.max))")
        }
        certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -Self.backdating),
            notValidAfter: Date(timeIntervalSinceNow: Self.authorityLifetime),
            issuer: name, subject: name,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: key.publicKey)
            },
            issuerPrivateKey: key)
        self.keyPEM = keyPEM
        self.key = key
        certificatePEM = try certificate.serializeAsPEM().pemString + "\n"
    }

    /// Takes up one that was made before.
    init(certificatePEM: String, keyPEM: String) throws {
        self.certificatePEM = certificatePEM
        self.keyPEM = keyPEM
        certificate = try Certificate(pemEncoded: certificatePEM)
        key = try Certificate.PrivateKey(pemEncoded: keyPEM)
    }

    /// Issues a server certificate with a fresh key, valid for `hosts`: names or numeric addresses.
    func issue(hosts: [String]) throws -> Identity {
        let serverKeyPEM = ES256PrivateKey().pemRepresentation
        let serverKey = try Certificate.PrivateKey(pemEncoded: serverKeyPEM)
        let names = hosts.map(Self.generalName)
        let issued = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: serverKey.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -Self.backdating),
            notValidAfter: min(Date(timeIntervalSinceNow: Self.serverLifetime), certificate.notValidAfter),
            issuer: certificate.subject,
            subject: try DistinguishedName { CommonName("Reveille push simulator") },
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(names)
                SubjectKeyIdentifier(hash: serverKey.publicKey)
                AuthorityKeyIdentifier(
                    keyIdentifier: SubjectKeyIdentifier(hash: key.publicKey).keyIdentifier)
            },
            issuerPrivateKey: key)
        return Identity(certificatePEM: try issued.serializeAsPEM().pemString + "\n", keyPEM: serverKeyPEM + "\n")
    }

    private static func generalName(_ host: String) -> GeneralName {
        var address = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, host, &address) == 1 {
            return .ipAddress(ASN1OctetString(contentBytes: address[..<4]))
        }
        if inet_pton(AF_INET6, host, &address) == 1 {
            return .ipAddress(ASN1OctetString(contentBytes: address[...]))
        }
        return .dnsName(host)
    }
}
