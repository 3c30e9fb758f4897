import CallVocabulary
import Crypto

/// The encryption of Web Push messages to a browser (RFC 8291), in one record of the content coding `aes128gcm` (RFC
/// 8188).
enum WebPushEncryption {
    /// The record size that is told, and the longest body that every push service takes (RFC 8030 section 7.2), in bytes.
    static let recordSize = 4096
    /// Salt, record size, length of the key id, and the sender's public key as key id.
    private static let headerSize = 16 + 4 + 1 + 65
    /// The longest content, in bytes: the body without header, the delimiter of the last record, and the tag.
    static let longestContent = recordSize - headerSize - 1 - 16

    /// The values that must be fresh for each message.
    struct MessageKeys {
        let key: P256.KeyAgreement.PrivateKey
        let salt: [UInt8]

        /// - Parameter key: a P-256 private key, 32 bytes.
        init(key: [UInt8], salt: [UInt8]) throws {
            self.key = try P256.KeyAgreement.PrivateKey(rawRepresentation: key)
            self.salt = salt
        }

        /// - Parameter random: a cryptographically secure generator, except in tests.
        init(random: inout some RandomNumberGenerator) {
            // About one 256-bit value in 2^32 is not a valid P-256 private key.
            while true {
                let bytes = Self.bytes(32, &random)
                guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes) else { continue }
                self.key = key
                break
            }
            salt = Self.bytes(16, &random)
        }

        private static func bytes(_ count: Int, _ random: inout some RandomNumberGenerator) -> [UInt8] {
            var bytes: [UInt8] = []
            while bytes.count < count {
                withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
            }
            return bytes
        }
    }

    /// Whether the bytes are an uncompressed point on the curve P-256.
    static func isPublicKey(_ bytes: [UInt8]) -> Bool { publicKey(bytes) != nil }

    private static func publicKey(_ bytes: [UInt8]) -> P256.KeyAgreement.PublicKey? {
        try? P256.KeyAgreement.PublicKey(x963Representation: bytes)
    }

    /// The body for the browser of `subscription`.
    /// - Parameter content: at most ``longestContent`` bytes.
    /// - Returns: nil when the subscription's key is not on the curve.
    static func encrypt(_ content: [UInt8], to subscription: WebPushSubscription, with keys: MessageKeys) -> [UInt8]? {
        guard let browser = publicKey(subscription.p256dh),
            let shared = try? keys.key.sharedSecretFromKeyAgreement(with: browser)
        else { return nil }
        let sender = Array(keys.key.publicKey.x963Representation)
        // RFC 8291 section 3.4.
        let info = Array("WebPush: info\0".utf8) + subscription.p256dh + sender
        let keyingMaterial = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: subscription.auth, sharedInfo: info, outputByteCount: 32)
        return seal(content, keyingMaterial: keyingMaterial, salt: keys.salt, keyID: sender)
    }

    /// The content in the coding `aes128gcm`, as one record (RFC 8188 section 2).
    /// - Parameter salt: 16 bytes.
    static func seal(
        _ content: [UInt8], keyingMaterial: SymmetricKey, salt: [UInt8], keyID: [UInt8]
    ) -> [UInt8] {
        precondition(salt.count == 16 && keyID.count <= 255, "RFC 8188 section 2.1")
        precondition(content.count + 17 <= recordSize, "the content fits one record")
        func derived(_ label: String, bytes: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: keyingMaterial, salt: salt, info: Array("Content-Encoding: \(label)\0".utf8),
                outputByteCount: bytes)
        }
        let nonce = derived("nonce", bytes: 12).withUnsafeBytes { Array($0) }
        // 0x02 ends the content of the last record.
        let record = content + [2]
        let sealed: AES.GCM.SealedBox
        do {
            sealed = try AES.GCM.seal(
                record, using: derived("aes128gcm", bytes: 16), nonce: AES.GCM.Nonce(data: nonce))
        } catch {
            preconditionFailure("AES-GCM takes a nonce of 12 bytes and a key of 16: \(error)")
        }
        var body = salt
        withUnsafeBytes(of: UInt32(recordSize).bigEndian) { body.append(contentsOf: $0) }
        body.append(UInt8(keyID.count))
        body.append(contentsOf: keyID)
        body.append(contentsOf: sealed.ciphertext)
        body.append(contentsOf: sealed.tag)
        return body
    }
}

extension WebPushSubscription {
    /// Whether messages can be encrypted to the browser: its public key is on the curve.
    public var isKeyValid: Bool { WebPushEncryption.isPublicKey(p256dh) }
}
