import Foundation
import JWTKit
import SwiftASN1
import X509

/// A certificate that vouches for itself, or has an issuer, and its key.
struct TestCertificate {
    let certificatePEM: String
    let keyPEM: String
    private let subject: DistinguishedName

    /// - Parameter days: how long it is good from now on; less than nothing: since when it is not.
    init(
        days: Double, startsIn startDays: Double = -100, name: String = "127.0.0.1", issuer: TestCertificate? = nil
    ) throws {
        keyPEM = ES256PrivateKey().pemRepresentation
        let key = try Certificate.PrivateKey(pemEncoded: keyPEM)
        subject = try DistinguishedName { CommonName(name) }
        let issuerKey = try issuer.map { try Certificate.PrivateKey(pemEncoded: $0.keyPEM) }
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: startDays * 86_400),
            notValidAfter: Date(timeIntervalSinceNow: days * 86_400), issuer: issuer?.subject ?? subject,
            subject: subject,
            extensions: try Certificate.Extensions { SubjectAlternativeNames([.dnsName("localhost")]) },
            issuerPrivateKey: issuerKey ?? key)
        certificatePEM = try certificate.serializeAsPEM().pemString + "\n"
    }

    static func day(in days: Double) -> String {
        Date(timeIntervalSinceNow: days * 86_400).formatted(.iso8601.year().month().day())
    }
}
