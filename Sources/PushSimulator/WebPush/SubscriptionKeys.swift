import ClientTokens
import Crypto
import FoundationEssentials

/// The keys that a browser makes for a subscription: they encrypt its pushes from the sender to the browser (RFC 8291).
struct SubscriptionKeys {
    private static let authSize = 16

    let privateKey: P256.KeyAgreement.PrivateKey
    /// The authentication secret.
    let auth: [UInt8]

    /// The public key: an uncompressed point, 65 bytes.
    var publicKey: [UInt8] { Array(privateKey.publicKey.x963Representation) }

    init(privateKey: P256.KeyAgreement.PrivateKey, auth: [UInt8]) {
        self.privateKey = privateKey
        self.auth = auth
    }

    init(random: inout some RandomNumberGenerator) {
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255, using: &random) } }
        var key: P256.KeyAgreement.PrivateKey?
        // One of 2^32 numbers is not below the order of the group, and is no key.
        while key == nil { key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes(32)) }
        // The loop ends with a key.
        self.init(privateKey: key!, auth: bytes(Self.authSize))
    }

    /// The fragment of a push token: `p256dh=…&auth=…`.
    var text: String { "p256dh=\(Base64URL.encode(publicKey))&auth=\(Base64URL.encode(auth))" }

    /// Decrypts the body of a push as a browser does.
    func decrypt(_ body: [UInt8]) throws(EncryptedContent.Fault) -> [UInt8] {
        let content = try EncryptedContent(body)
        // Some curves' keys are shorter; an uncompressed point of P-256 is the only permitted form.
        guard content.keyID.count == 65, content.keyID[0] == 4,
            let sender = try? P256.KeyAgreement.PublicKey(x963Representation: content.keyID),
            let shared = try? privateKey.sharedSecretFromKeyAgreement(with: sender)
        else { throw .senderKey }
        guard !content.hasSeveralRecords else { throw .severalRecords }
        let info = Array("WebPush: info\0".utf8) + publicKey + content.keyID
        let material = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: auth, sharedInfo: info, outputByteCount: 32)
        return try content.decrypt(keyMaterial: material)
    }
}
