import CallVocabulary
import Crypto
import Foundation

/// A secret that signs messages as Standard Webhooks defines: `whsec_` and Base64 for HMAC-SHA256 (signatures `v1`),
/// `whsk_` and Base64 for an Ed25519 private key (signatures `v1a`).
public struct WebhookSecret: Hashable, Sendable, Redacted {
    private enum Key: Hashable {
        case symmetric([UInt8])
        /// The private key of 32 bytes.
        case ed25519([UInt8])
    }

    private let key: Key

    /// nil unless it is a symmetric key of 24 to 64 bytes, or an Ed25519 key of 32 bytes (or 64, with the public key).
    public init?(_ text: String) {
        if let bytes = Self.bytes(text, after: "whsec_") {
            guard (24...64).contains(bytes.count) else { return nil }
            key = .symmetric(bytes)
        } else if let bytes = Self.bytes(text, after: "whsk_") {
            guard bytes.count == 32 || bytes.count == 64 else { return nil }
            key = .ed25519(Array(bytes.prefix(32)))
        } else {
            return nil
        }
    }

    private static func bytes(_ text: String, after prefix: String) -> [UInt8]? {
        guard text.hasPrefix(prefix) else { return nil }
        return Data(base64Encoded: String(text.dropFirst(prefix.count))).map { Array($0) }
    }

    /// The secrets of a text, one per line; nil for any other text.
    package static func all(in text: String) -> [WebhookSecret]? {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
        let secrets = lines.compactMap { WebhookSecret($0) }
        return secrets.isEmpty || secrets.count < lines.count ? nil : secrets
    }

    /// A new symmetric secret, as text.
    public static func make() -> String {
        "whsec_" + SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }.base64EncodedString()
    }

    /// The signature of a message, with its version.
    func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        let content = Array("\(id).\(timestamp).".utf8) + body
        switch key {
        case .symmetric(let bytes):
            let code = HMAC<SHA256>.authenticationCode(for: content, using: SymmetricKey(data: bytes))
            return "v1," + Data(code).base64EncodedString()
        case .ed25519(let bytes):
            guard let signing = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes),
                let signature = try? signing.signature(for: content)
            else { preconditionFailure("any 32 bytes are a private key, and with one signing cannot fail") }
            return "v1a," + signature.base64EncodedString()
        }
    }
}

extension [WebhookSecret] {
    /// The header fields that identify and sign a message (Standard Webhooks 1.0).
    /// - Parameter timestamp: of this attempt, in seconds since 1970.
    package func fields(id: String, timestamp: Int64, body: [UInt8]) -> [(name: String, value: String)] {
        let signatures = map { $0.signature(id: id, timestamp: timestamp, body: body) }
        return [
            ("Content-Type", "application/json"), ("webhook-id", id), ("webhook-timestamp", "\(timestamp)"),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}
