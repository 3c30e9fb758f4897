import CallVocabulary
import FoundationEssentials
import Glibc
import JWTKit
import SwiftASN1
import X509

/// A private certificate authority for the simulator's server and provider certificates. Load tests use one for their
/// server.
package struct CertificateAuthority {
    package struct Identity: Sendable {
        package let certificatePEM: String
        package let keyPEM: String
    }

    package static let simulator = "Reveille push simulator"

    private static let authorityLifetime: TimeInterval = 10 * 365 * 86_400
    private static let lifetime: TimeInterval = 397 * 86_400
    /// Certificates are valid from this many seconds earlier, for peers whose clock is behind.
    private static let backdating: TimeInterval = 3600

    package let certificatePEM: String
    let keyPEM: String
    private let certificate: Certificate
    private let key: Certificate.PrivateKey

    /// Creates a new authority.
    /// - Parameter owner: the first part of its name.
    package init(of owner: String = Self.simulator) throws {
        let keyPEM = ES256PrivateKey().pemRepresentation
        let key = try Certificate.PrivateKey(pemEncoded: keyPEM)
        let name = try DistinguishedName {
            OrganizationName("Reveille")
            CommonName("\(owner) CA \(UInt32.random(in: 0...UInt32.max))")
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

    /// Loads an existing authority.
    init(certificatePEM: String, keyPEM: String) throws {
        self.certificatePEM = certificatePEM
        self.keyPEM = keyPEM
        certificate = try Certificate(pemEncoded: certificatePEM)
        key = try Certificate.PrivateKey(pemEncoded: keyPEM)
    }

    /// Issues a server certificate with a new key, valid for `hosts`: names or numeric addresses.
    package func issue(hosts: [String], to owner: String = Self.simulator) throws -> Identity {
        let names = hosts.map(Self.generalName)
        return try issue(
            subject: try DistinguishedName { CommonName(owner) }, usage: .serverAuth
        ) { SubjectAlternativeNames(names) }
    }

    /// Issues a certificate like Apple's for VoIP services, with which a provider pushes without a token.
    /// - Parameters:
    ///   - bundle: the app. The certificate is valid for its `.voip` topic and its other topics.
    ///   - environments: the environments it is valid for.
    func issueProviderCertificate(
        bundle: String, teamID: String, environments: Set<PushEnvironment> = Set(PushEnvironment.allCases)
    ) throws -> Identity {
        let subject = try DistinguishedName {
            CommonName("VoIP Services: \(bundle)")
            OrganizationalUnitName(teamID)
        }
        let own = try ProviderCertificate.extensions(bundle: bundle, environments: environments)
        return try issue(subject: subject, usage: .clientAuth) {
            for each in own { each }
        }
    }

    private func issue(
        subject: DistinguishedName, usage: ExtendedKeyUsage.Usage,
        @ExtensionsBuilder further: () throws -> Result<Certificate.Extensions, any Error>
    ) throws -> Identity {
        let subjectKeyPEM = ES256PrivateKey().pemRepresentation
        let subjectKey = try Certificate.PrivateKey(pemEncoded: subjectKeyPEM)
        let further = try Certificate.Extensions(builder: further)
        let issued = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: subjectKey.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -Self.backdating),
            notValidAfter: min(Date(timeIntervalSinceNow: Self.lifetime), certificate.notValidAfter),
            issuer: certificate.subject, subject: subject,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([usage])
                for each in further { each }
                SubjectKeyIdentifier(hash: subjectKey.publicKey)
                AuthorityKeyIdentifier(
                    keyIdentifier: SubjectKeyIdentifier(hash: key.publicKey).keyIdentifier)
            },
            issuerPrivateKey: key)
        return Identity(certificatePEM: try issued.serializeAsPEM().pemString + "\n", keyPEM: subjectKeyPEM + "\n")
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
