import Crypto
import Foundation
import OutgoingHTTP

/// Signs requests as Standard Webhooks says: `v1`, HMAC-SHA256 over the id, the time and the body.
package enum WebhookSignature {
    /// The secrets of a file, one a line, as `whsec_` and Base64 of 24 to 64 bytes; nil for any other text.
    package static func secrets(in text: String) -> [[UInt8]]? {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
        let secrets = lines.compactMap { line -> [UInt8]? in
            guard line.hasPrefix("whsec_"), let data = Data(base64Encoded: String(line.dropFirst(6))),
                (24...64).contains(data.count)
            else { return nil }
            return Array(data)
        }
        return secrets.isEmpty || secrets.count < lines.count ? nil : secrets
    }

    /// - Parameters:
    ///   - secrets: each signs; during a rotation the receiver knows one of them.
    ///   - seconds: Unix time.
    static func fields(
        id: String, seconds: Int64, body: [UInt8], secrets: [[UInt8]]
    ) -> [(name: String, value: String)] {
        let signed = Data("\(id).\(seconds).".utf8) + body
        let signatures = secrets.map { secret in
            let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret))
            return "v1,\(Data(code).base64EncodedString())"
        }
        return [
            ("webhook-id", id), ("webhook-timestamp", "\(seconds)"),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}
