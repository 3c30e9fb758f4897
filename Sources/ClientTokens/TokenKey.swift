import Crypto
import CryptoExtras
import Foundation

/// A public key that user tokens may be signed with. The key, not a token's header, decides on the algorithms.
public struct TokenKey: Sendable {
    enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
    }

    /// The fewest bits of an RSA key (RFC 7518, section 3.3).
    static let fewestBits = 2048
    /// The most: verification takes time in proportion to the square of the length.
    static let mostBits = 8192

    /// The `kid`; nil for a key in PEM, and for a JWK without one.
    public let id: String?
    /// The algorithms that the key is for; at least one.
    public let algorithms: [TokenAlgorithm]
    /// The file or URL that it is from.
    public let source: String
    let material: Material
    package let fingerprint: KeyFingerprint

    init(id: String?, algorithms: [TokenAlgorithm], source: String, material: Material) {
        self.id = id
        self.algorithms = algorithms
        self.source = source
        self.material = material
        fingerprint = KeyFingerprint(of: material.bytes)
    }

    /// Whether `signature` is the key's for `message`. False for an algorithm that the key is not for.
    func isSignature(_ signature: [UInt8], of message: [UInt8], by algorithm: TokenAlgorithm) -> Bool {
        guard algorithms.contains(algorithm) else { return false }
        switch (material, algorithm) {
        case (.rsa(let key), .rs256):
            return signature.count == (key.keySizeInBits + 7) / 8
                && key.isValidSignature(
                    _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: message),
                    padding: .insecurePKCS1v1_5)
        case (.rsa(let key), .ps256):
            // The salt has the digest's length (RFC 7518, section 3.5).
            return signature.count == (key.keySizeInBits + 7) / 8
                && key.isValidSignature(
                    _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: message),
                    padding: .PSS)
        // Both numbers, each in full length; not DER (RFC 7518, section 3.4).
        case (.p256(let key), .es256):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA256.hash(data: message))
        case (.p384(let key), .es384):
            guard let signature = try? P384.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA384.hash(data: message))
        case (.ed25519(let key), .edDSA): return key.isValidSignature(signature, for: message)
        case (.rsa, _), (.p256, _), (.p384, _), (.ed25519, _): return false
        }
    }

    /// `the key "k1"`, or for a key without a `kid` its place.
    var name: String { id.map { "the key \(TokenValue.string($0).shown)" } ?? "a key of \(source)" }
}

extension TokenKey.Material {
    /// The public key, as bytes that differ for different keys.
    var bytes: Data {
        switch self {
        case .rsa(let key): key.derRepresentation
        case .p256(let key): key.x963Representation
        case .p384(let key): key.x963Representation
        case .ed25519(let key): key.rawRepresentation
        }
    }

    /// The algorithms of a key that does not name its own.
    var algorithms: [TokenAlgorithm] {
        switch self {
        case .rsa: [.rs256, .ps256]
        case .p256: [.es256]
        case .p384: [.es384]
        case .ed25519: [.edDSA]
        }
    }
}

extension TokenKey: Equatable {
    public static func == (a: Self, b: Self) -> Bool {
        // Keys that differ have other fingerprints: the bytes of a key are computed.
        a.id == b.id && a.algorithms == b.algorithms && a.source == b.source && a.fingerprint == b.fingerprint
            && a.material.bytes == b.material.bytes
    }
}
