import CallVocabulary
import Crypto
import Foundation
import HTTP2
import PushClient
import TLS

/// A browser with a subscription: decrypts what it is pushed, by the other half of RFC 8291, written for this.
public struct WebPushTestBrowser: Sendable {
    private let key = P256.KeyAgreement.PrivateKey()
    private let auth: [UInt8]

    public init() {
        var random = SystemRandomNumberGenerator()
        auth = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// The subscription's token.
    /// - Parameter key: the application server's.
    public func token(
        host: String = "127.0.0.1", port: UInt16, path: String = "/push/abc", key: WebPushKey
    ) -> PushToken {
        let p256dh = WebPushSubscription.base64URL(self.key.publicKey.x963Representation)
        return PushToken(
            provider: .webpush, kind: .data, environment: .production, topic: key.applicationServerKey,
            token: "https://\(host):\(port)\(path)#p256dh=\(p256dh)&auth=\(WebPushSubscription.base64URL(auth))")
    }

    /// The subscription as a page has it.
    public func json(port: UInt16, path: String = "/push/abc") -> String {
        let p256dh = WebPushSubscription.base64URL(key.publicKey.x963Representation)
        return #"{"endpoint":"https://127.0.0.1:\#(port)\#(path)","expirationTime":null,"keys":{"p256dh":"\#(p256dh)","#
            + #""auth":"\#(WebPushSubscription.base64URL(auth))"}}"#
    }

    public struct Undecryptable: Error {}

    /// The content of a body.
    /// - Throws: ``Undecryptable``, or swift-crypto's error.
    public func decrypt(_ body: [UInt8]) throws -> [UInt8] {
        guard body.count > 86 + 17, body.count <= 4096, Array(body[16..<21]) == [0, 0, 16, 0, 65] else {
            throw Undecryptable()
        }
        let (salt, sender) = (Array(body[..<16]), Array(body[21..<86]))
        let shared = try key.sharedSecretFromKeyAgreement(with: .init(x963Representation: sender))
        let info = Array("WebPush: info".utf8) + [0] + key.publicKey.x963Representation + sender
        let material = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: auth, sharedInfo: info, outputByteCount: 32)
        let secret = HKDF<SHA256>.extract(inputKeyMaterial: material, salt: salt)
        func expand(_ label: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.expand(
                pseudoRandomKey: secret, info: Array("Content-Encoding: \(label)".utf8) + [0], outputByteCount: count)
        }
        let nonce = expand("nonce", 12).withUnsafeBytes { Array($0) }
        let box = try AES.GCM.SealedBox(
            nonce: .init(data: nonce), ciphertext: body[86..<(body.count - 16)], tag: body.suffix(16))
        let record = [UInt8](try AES.GCM.open(box, using: expand("aes128gcm", 16)))
        guard let end = record.lastIndex(where: { $0 != 0 }), record[end] == 2 else { throw Undecryptable() }
        return Array(record[..<end])
    }

    /// The members of a decrypted body.
    public func object(_ body: [UInt8]) throws -> [String: Any] {
        guard let object = try JSONSerialization.jsonObject(with: Data(try decrypt(body))) as? [String: Any] else {
            throw Undecryptable()
        }
        return object
    }
}

/// Judges a Web Push as the strictest of the real services do.
public enum WebPushTestService {
    /// What is wrong with a request; nil when nothing is.
    /// - Parameters:
    ///   - port: of the service, on 127.0.0.1.
    ///   - now: in seconds since the epoch.
    public static func fault(
        in request: HTTP2ServerRequest, port: UInt16, key: WebPushKey, now: Int64 = Int64(Date().timeIntervalSince1970)
    ) -> String? {
        guard request.method == "POST", request.path.hasPrefix("/push/") else { return "no such resource" }
        guard let ttl = request.first("ttl").flatMap({ Int64($0) }), (0...2_419_200).contains(ttl) else {
            return "bad TTL"
        }
        guard request.first("content-encoding") == "aes128gcm" else { return "bad Content-Encoding" }
        guard ["very-low", "low", "normal", "high"].contains(request.first("urgency")) else { return "bad Urgency" }
        let topic = request.first("topic") ?? ""
        guard (1...32).contains(topic.utf8.count), data(topic) != nil else { return "bad Topic" }
        guard !request.body.isEmpty, request.body.count <= 4096 else { return "bad body" }
        return credentialFault(request.first("authorization") ?? "", port: port, key: key, now: now)
    }

    private static func credentialFault(_ text: String, port: UInt16, key: WebPushKey, now: Int64) -> String? {
        let parts = text.split(separator: " ")
        guard parts.count == 3, parts[0] == "vapid", parts[1].hasPrefix("t="), parts[1].hasSuffix(","),
            parts[2] == "k=\(key.applicationServerKey)"
        else { return "bad Authorization" }
        let token = parts[1].dropFirst(2).dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard token.count == 3, let header = object(token[0]), let claims = object(token[1]),
            let signature = data(String(token[2])), let point = data(key.applicationServerKey),
            let verifier = try? P256.Signing.PublicKey(x963Representation: point),
            let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            verifier.isValidSignature(parsed, for: Data("\(token[0]).\(token[1])".utf8))
        else { return "bad JWT" }
        guard header["alg"] as? String == "ES256", header["typ"] as? String == "JWT" else { return "bad header of JWT" }
        guard claims["aud"] as? String == "https://127.0.0.1:\(port)" else { return "bad aud of JWT" }
        guard let expiry = claims["exp"] as? Int64, expiry > now, expiry <= now + 86_400 else {
            return "bad exp of JWT"
        }
        guard (claims["sub"] as? String)?.hasPrefix("mailto:") == true else { return "bad sub of JWT" }
        return nil
    }

    private static func object(_ part: Substring) -> [String: Any]? {
        data(String(part)).flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
    }

    private static func data(_ text: String) -> Data? {
        guard !text.contains("="), !text.contains("+"), !text.contains("/") else { return nil }
        var text = text.replacing("-", with: "+").replacing("_", with: "/")
        while !text.utf8.count.isMultiple(of: 4) { text += "=" }
        return Data(base64Encoded: text)
    }
}

extension WebPushEndpoint {
    /// Pushes to ``PushTestServer``s.
    public static func test(ports: [UInt16], key: WebPushKey = .random()) async throws -> WebPushEndpoint {
        let certificates = try await PushTestCertificates.shared.value
        return WebPushEndpoint(
            key: key, subject: "mailto:test@example.org", hosts: ports.compactMap { WebPushHost("127.0.0.1:\($0)") },
            trust: .certificateAuthorityPEM(certificates.authorityPEM))
    }
}
