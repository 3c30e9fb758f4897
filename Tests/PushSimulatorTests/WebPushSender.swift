import ClientTokens
import Crypto
import Foundation
import HTTP2
import Testing

@testable import PushSimulator

/// An application server of a test: its key, and pushes by RFC 8291 and RFC 8292.
struct WebPushSender {
    let key = P256.Signing.PrivateKey()
    let origin: String

    /// The `applicationServerKey`.
    var publicKey: String { Base64URL.encode(key.publicKey.x963Representation) }

    /// - Parameter life: seconds until `exp`.
    func authorization(
        audience: String? = nil, life: Int = 3600, subject: String? = "mailto:push@example.org"
    ) throws -> String {
        var claims: [String: Any] = [
            "aud": audience ?? origin, "exp": Int(Date().timeIntervalSince1970) + life,
        ]
        claims["sub"] = subject
        let header = Base64URL.encode(#"{"typ":"JWT","alg":"ES256"}"#.utf8)
        let signed = header + "." + Base64URL.encode(try JSONSerialization.data(withJSONObject: claims))
        let signature = try key.signature(for: Array(signed.utf8))
        return "vapid t=\(signed).\(Base64URL.encode(signature.rawRepresentation)), k=\(publicKey)"
    }

    /// A push to `token`, a subscription.
    /// - Parameter changes: the values of other fields; nil removes one.
    func push(
        _ text: String, to token: String, changes: [String: String?] = [:]
    ) throws -> HTTP2Request {
        try push(body: seal(Array(text.utf8), for: token), to: token, changes: changes)
    }

    func push(body: [UInt8], to token: String, changes: [String: String?] = [:]) throws -> HTTP2Request {
        var fields: [String: String] = [
            "ttl": "30", "urgency": "high", "content-encoding": "aes128gcm", "authorization": try authorization(),
        ]
        for (name, value) in changes { fields[name] = value }
        return HTTP2Request(
            method: "POST", authority: "localhost", path: "/push/" + SimulatedPhone.key(of: token),
            fields: fields.map { HTTPField($0.key, $0.value) }, body: body)
    }

    /// Encrypts by the steps of RFC 8291, section 3.4.
    func seal(_ plain: [UInt8], for token: String) throws -> [UInt8] {
        let parts = token.split(separator: "#")[1].split(separator: "&").map { $0.split(separator: "=")[1] }
        let browser = try P256.KeyAgreement.PublicKey(x963Representation: #require(Base64URL.decode(parts[0])))
        let own = P256.KeyAgreement.PrivateKey()
        let ownPublic = Array(own.publicKey.x963Representation)
        let info = Array("WebPush: info\0".utf8) + Array(browser.x963Representation) + ownPublic
        let material = try own.sharedSecretFromKeyAgreement(with: browser).hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: #require(Base64URL.decode(parts[1])), sharedInfo: info, outputByteCount: 32)
        let salt = (0..<16).map { _ in UInt8.random(in: 0...255) }
        func derive(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: material, salt: salt, info: Array(info.utf8), outputByteCount: count)
        }
        let nonce = derive("Content-Encoding: nonce\0", 12).withUnsafeBytes { Array($0) }
        let box = try AES.GCM.seal(
            plain + [2], using: derive("Content-Encoding: aes128gcm\0", 16), nonce: AES.GCM.Nonce(data: nonce))
        return salt + [0, 0, 16, 0, 65] + ownPublic + Array(box.ciphertext) + Array(box.tag)
    }
}
