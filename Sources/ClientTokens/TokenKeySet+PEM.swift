import Crypto
import CryptoExtras
import Foundation

extension TokenKeySet {
    /// Reads public keys in PEM (RFC 7468), any number of them.
    mutating func readPEM(_ text: String) throws(Failure) {
        var rest = Substring(text)
        var number = 0
        while let begin = rest.range(of: "-----BEGIN ") {
            guard number < Self.mostKeys else {
                leaveOutOthers()
                break
            }
            guard let labelEnd = rest.range(of: "-----", range: begin.upperBound..<rest.endIndex) else { break }
            let label = String(rest[begin.upperBound..<labelEnd.lowerBound])
            guard let end = rest.range(of: "-----END \(label)-----", range: labelEnd.upperBound..<rest.endIndex) else {
                throw Failure(description: "has -----BEGIN \(label)----- without its end")
            }
            number += 1
            let body = rest[labelEnd.upperBound..<end.lowerBound].filter { !$0.isWhitespace }
            do throws(LeftOutReason) {
                add("key \(number)", .success(try key(label, base64: body)))
            } catch {
                add("key \(number)", .failure(error))
            }
            rest = rest[end.upperBound...]
        }
        guard number > 0 else {
            throw Failure(description: "holds neither a JWK Set nor a public key in PEM")
        }
    }

    private func key(_ label: String, base64: String) throws(LeftOutReason) -> TokenKey {
        switch label {
        case "PUBLIC KEY", "RSA PUBLIC KEY": break
        case "CERTIFICATE":
            throw LeftOutReason("it is a certificate; get its key with: openssl x509 -pubkey -noout -in FILE")
        case _ where label.hasSuffix("PRIVATE KEY"):
            throw LeftOutReason("it is a private key; get its public one with: openssl pkey -pubout -in FILE")
        default: throw LeftOutReason("it is a \(TokenValue.string(label).shown), not a PUBLIC KEY")
        }
        guard let der = Data(base64Encoded: base64).map(Array.init) else { throw LeftOutReason("it is not base64") }
        let material = try Self.material(der)
        let isOnlyPSS = der.prefix(32).firstRange(of: Self.pssIdentifier) != nil
        return TokenKey(
            id: nil, algorithms: isOnlyPSS ? [.ps256] : material.algorithms, source: source, material: material)
    }

    /// The OBJECT IDENTIFIER id-RSASSA-PSS in DER (RFC 4055, section 3.1): a key with it is for no other padding.
    private static let pssIdentifier: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A]
    /// What precedes the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410, section 4).
    private static let ed25519Prefix: [UInt8] = [
        0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00,
    ]

    private static func material(_ der: [UInt8]) throws(LeftOutReason) -> TokenKey.Material {
        if der.starts(with: ed25519Prefix), der.count == ed25519Prefix.count + 32,
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: der.dropFirst(ed25519Prefix.count))
        {
            return .ed25519(key)
        }
        if let key = try? P256.Signing.PublicKey(derRepresentation: der) { return .p256(key) }
        if let key = try? P384.Signing.PublicKey(derRepresentation: der) { return .p384(key) }
        // Shorter keys are read as well, to be refused for their length.
        guard let key = try? _RSA.Signing.PublicKey(unsafeDERRepresentation: der) else {
            throw LeftOutReason("it is not a key of RSA, P-256, P-384 or Ed25519")
        }
        guard (TokenKey.fewestBits...TokenKey.mostBits).contains(key.keySizeInBits) else {
            throw length(key.keySizeInBits)
        }
        return .rsa(key)
    }
}
