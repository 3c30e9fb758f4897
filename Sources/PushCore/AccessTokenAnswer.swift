import CallVocabulary
import WireJSON

/// The answer of an OAuth token endpoint (RFC 6749, sections 5.1 and 5.2).
package enum AccessTokenAnswer: Equatable, Sendable, Redacted {
    /// The token, and how long it is good: ``shortestLife`` to ``longestLife``.
    case token(String, life: Duration)
    /// The reason, as text.
    case refused(String)

    /// A shorter lifetime would end before the token's use.
    package static let shortestLife = Duration.seconds(30)
    /// A longer lifetime is cut to this, so that an error of the provider does not keep a token forever.
    package static let longestLife = Duration.seconds(24 * 3600)
    /// A longer token fits no request: servers bound the head of a request, most at 8 KiB.
    private static let longestToken = 8192
    private static let assumedSeconds: Int64 = 3600
    /// The provider's words are cut to so many characters.
    private static let longestCode = 60
    private static let longestDetail = 120

    /// - Parameter body: JSON as documented; anything else is refused with the status.
    package init(status: Int, body: [UInt8]) {
        self = body.withUnsafeBytes { bytes in Self.read(status, try? JSONScanner.document(bytes)) }
    }

    private static func read(_ status: Int, _ object: JSONValue?) -> Self {
        guard status == 200, let text = object?.member("access_token")?.string, isPrintable(text) else {
            return .refused(words(status, object))
        }
        guard text.utf8.count <= longestToken else {
            return .refused("an access token of \(text.utf8.count) bytes is of no use: it has at most \(longestToken)")
        }
        var seconds = assumedSeconds
        if let life = object?.member("expires_in"), !life.isNull {
            guard let known = life.integer(clampedTo: 0...longestLife.components.seconds) else {
                return .refused("no access token (expires_in is not a whole number of seconds)")
            }
            seconds = known
        }
        guard seconds >= shortestLife.components.seconds else {
            return .refused("an access token that ends after \(seconds) s is of no use")
        }
        return .token(text, life: .seconds(seconds))
    }

    /// Required for the value of a header field.
    private static func isPrintable(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    private static func words(_ status: Int, _ object: JSONValue?) -> String {
        let error = object?.member("error")?.string
        let code = error.map { $0.printable(upTo: longestCode) } ?? "HTTP \(status)"
        let detail = object?.member("error_description")?.string?.printable(upTo: longestDetail)
        let advice =
            switch error {
            case "invalid_grant": "; check the service account's key, and this machine's clock"
            case "invalid_client", "unauthorized_client": "; the service account was deleted or may not do this"
            default: ""
            }
        return "no access token (\(code))\(detail.map { ": \($0)" } ?? "")\(advice)"
    }
}
