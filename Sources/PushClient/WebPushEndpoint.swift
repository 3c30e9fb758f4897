import CallVocabulary
import PushCore
import TLS

/// The sender of Web Push: its key and contact, and the push services that it pushes to.
public struct WebPushEndpoint: Sendable {
    /// The hosts of the browsers' push services: Chrome and Edge, Firefox, Safari, and Edge on Windows.
    public static let standardHosts = [
        "fcm.googleapis.com", "*.push.services.mozilla.com", "*.push.apple.com", "*.notify.windows.com",
    ]
    /// The names below the patterns to which Firefox and Safari subscribe. No device has invented them.
    static let browserHosts = ["updates.push.services.mozilla.com", "web.push.apple.com"]
    /// The most push services, by host and port, with connections at a time. Devices choose them among the hosts.
    public static let mostOrigins = 64
    /// The most of these that have never accepted a push and are named by a `*` only, those of browsers apart.
    public static let mostUnproven = 8
    /// The part of the queue capacity for the pushes to them.
    static let unprovenShare = 8

    /// nil until the key of the data folder is read: without a key nothing is pushed.
    public var key: WebPushKey?
    /// `mailto:` or `https:`, for the push services' operators (RFC 8292 section 2.1).
    public var subject: String
    /// Browsers name the host of their push service: the server pushes to these only.
    public var hosts: [WebPushHost]
    public var trust: TLSClientContext.Trust
    /// Connections and timeouts of each push service; the queue capacity is that of all together.
    public var policy: PushPolicy

    public init(
        key: WebPushKey?, subject: String, hosts: [WebPushHost] = Self.standardHosts.compactMap(WebPushHost.init),
        trust: TLSClientContext.Trust = .system, policy: PushPolicy = PushPolicy()
    ) {
        self.key = key
        self.subject = subject
        self.hosts = hosts
        self.trust = trust
        self.policy = policy
    }

    /// Whether a text is a contact as RFC 8292 wants it.
    public static func isSubject(_ text: String) -> Bool {
        let isPlain = text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        guard isPlain, text.utf8.count <= 255 else { return false }
        if text.hasPrefix("mailto:") {
            let parts = text.dropFirst(7).split(separator: "@", omittingEmptySubsequences: false)
            return parts.count == 2 && !parts[0].isEmpty && isPublic(parts[1])
        }
        guard text.hasPrefix("https://") else { return false }
        let authority = text.dropFirst(8).prefix { !"/?#".contains($0) }
        return WebPushSubscription.authority(String(authority)).map { isPublic($0.name[...]) } ?? false
    }

    /// Apple refuses contacts at localhost.
    private static func isPublic(_ domain: Substring) -> Bool {
        let labels = domain.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        let isPlain = labels.allSatisfy { label in
            !label.isEmpty && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        }
        return isPlain && labels.last != "localhost"
    }
}
