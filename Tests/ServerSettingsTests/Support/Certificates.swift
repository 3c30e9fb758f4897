import Foundation
import JWTKit
import SwiftASN1
import X509

/// A certificate that vouches for itself, and its key.
struct TestCertificate {
    let certificatePEM: String
    let keyPEM: String

    /// - Parameter days: how long it is good from now on; less than nothing: since when it is not.
    init(days: Double, startsIn startDays: Double = -100) throws {
        keyPEM = ES256PrivateKey().pemRepresentation
        let key = try Certificate.PrivateKey(pemEncoded: keyPEM)
        let name = try DistinguishedName { CommonName("127.0.0.1") }
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: startDays * 86_400),
            notValidAfter: Date(timeIntervalSinceNow: days * 86_400), issuer: name, subject: name,
            extensions: try Certificate.Extensions { SubjectAlternativeNames([.dnsName("localhost")]) },
            issuerPrivateKey: key)
        certificatePEM = try certificate.serializeAsPEM().pemString + "\n"
    }

    static func day(in days: Double) -> String {
        Date(timeIntervalSinceNow: days * 86_400).formatted(.iso8601.year().month().day())
    }
}
