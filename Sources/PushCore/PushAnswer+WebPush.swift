import CallVocabulary
import WireJSON

extension PushAnswer {
    /// Interprets an answer of a Web Push service (RFC 8030 section 5, RFC 8292 section 4.2).
    ///
    /// Devices choose their endpoints, so no answer to one device's push may stop those of others. 401 and 403 count
    /// against the credential only if the service names the VAPID token in its words.
    /// - Parameters:
    ///   - body: the service's error: JSON of Mozilla, Apple or Google, a line of text, or nothing.
    ///   - retryAfter: from the `Retry-After` field.
    public static func webPush(status: Int, body: [UInt8], retryAfter: Duration? = nil) -> PushAnswer {
        switch status {
        case 200, 201, 202: return PushAnswer(status: status, reason: "OK", verdict: .accepted)
        default: break
        }
        let words = WebPushErrorWords(body)
        let verdict: PushVerdict =
            switch status {
            case 404, 410: .tokenGone
            case 400 where words.namesOtherKey, 401 where words.namesOtherKey, 403 where words.namesOtherKey:
                .tokenMismatched
            case 401 where words.namesCredential, 403 where words.namesCredential: .credentialRefused
            case 401, 403: .topicRefused
            // 406 is what Windows Notification Service answers to too many notifications.
            case 406, 429: .throttled
            case 500...: .retryable
            // Redirects are not followed.
            default: .requestFaulty
            }
        let reason = words.text.isEmpty ? "HTTP \(status)" : "HTTP \(status): \(words.text)"
        return PushAnswer(status: status, reason: reason, verdict: verdict, retryAfter: retryAfter)
    }
}

/// The text of a push service's error body: `{"reason":"BadJwtToken"}` of Apple; `{"code":404,"errno":102,"error":"Not
/// Found","message":"…"}` of Mozilla; `{"error":{"message":"…"}}` of Google; or a text.
struct WebPushErrorWords {
    /// Longer texts are cut to this many characters.
    static let longest = 120
    private static let longestWord = 40

    /// One line of printable ASCII; empty when the body tells nothing.
    let text: String

    init(_ body: [UInt8]) {
        var found: String?
        body.prefix(PushAnswer.longestBody).withUnsafeBytes { bytes in
            guard let root = try? JSONScanner.document(bytes) else { return }
            let words = [root.member("reason"), root.member("message"), root.member("error")?.member("message")]
            found = words.lazy.compactMap { $0?.string }.first ?? root.member("error")?.string ?? ""
            if let number = root.member("errno")?.integer(Int.self) { found = "errno \(number) \(found ?? "")" }
        }
        text = Self.line(found?.utf8.map { $0 } ?? body)
    }

    /// Whether the service says that the subscription was made with another key.
    var namesOtherKey: Bool {
        let words = text.lowercased()
        if words.contains("unauthorizedregistration") { return true }
        // Not the mismatch of an audience, which is a fault of the VAPID token.
        return ["mismatch", "correspond"].contains { words.contains($0) }
            && ["key", "hash", "credential", "sender"].contains { words.contains($0) }
    }

    /// Whether the service refuses the VAPID token itself.
    var namesCredential: Bool {
        let words = text.lowercased()
        return ["jwt", "vapid", "audience"].contains { words.contains($0) }
    }

    /// White space becomes one space; a document in HTML tells nothing. Words that may be a part of the endpoint, which is
    /// secret, are left out: a proxy's error page may quote the path.
    private static func line(_ bytes: [UInt8]) -> String {
        guard bytes.first(where: { $0 > 0x20 }) != UInt8(ascii: "<") else { return "" }
        let words = bytes.prefix(4 * longest).split { !(0x21...0x7E ~= $0) }
        let plain = words.filter { $0.count <= longestWord && !$0.contains(UInt8(ascii: "/")) }
        return String(plain.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ").prefix(longest))
    }
}
