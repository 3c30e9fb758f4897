import CallVocabulary
import Crypto
import PushCore
import TLS

/// The sender of Web Push: its key and contact, and the push services that it pushes to.
public struct WebPushEndpoint: Sendable {
    /// The hosts of the browsers' push services: Chrome and Edge, Firefox, Safari, and Edge on Windows.
    public static let standardHosts = [
        "fcm.googleapis.com", "*.push.services.mozilla.com", "*.push.apple.com", "*.notify.windows.com",
    ]
    /// The most push services, by host and port, with connections at a time. Devices choose them among the hosts.
    public static let mostOrigins = 64

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
            return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
        }
        return text.hasPrefix("https://") && text.count > 8
    }
}

/// The key of a Web Push sender: P-256, for ES256.
public struct WebPushKey: Equatable, Sendable {
    @Secret public private(set) var pem: String
    /// The `applicationServerKey` with which browsers subscribe: 65 bytes in base64url.
    public let applicationServerKey: String

    /// - Parameters:
    ///   - pem: a P-256 private key, SEC 1 or PKCS #8.
    ///   - source: the file's name, for errors.
    /// - Throws: ``PushConfigurationError``.
    public init(pem: String, source: String) throws {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
            // The library's message may quote the key, so it is omitted.
            throw PushConfigurationError(
                source: source, field: "key",
                problem: "this is no P-256 private key in PEM (openssl ecparam -name prime256v1 -genkey -noout)")
        }
        self.init(key)
    }

    private init(_ key: P256.Signing.PrivateKey) {
        pem = key.pemRepresentation
        applicationServerKey = WebPushSubscription.base64URL(key.publicKey.x963Representation)
    }

    /// A new key, from the system's generator.
    public static func random() -> WebPushKey { WebPushKey(P256.Signing.PrivateKey()) }
}

/// A host that may be pushed to: `fcm.googleapis.com`, `*.push.apple.com` for all names below, or with a port other than
/// 443, `127.0.0.1:8443`.
public struct WebPushHost: Equatable, Sendable, CustomStringConvertible {
    public let description: String
    /// With the dot before it, when the host is any name below.
    private let name: String
    private let port: UInt16

    /// Whether it is one host, not a pattern.
    public var isExact: Bool { !name.hasPrefix(".") }

    /// - Returns: nil for a text that is no host. A `*` stands for whole labels at the front, before two labels at least.
    public init?(_ text: String) {
        let text = text.lowercased()
        let isPattern = text.hasPrefix("*.")
        // A pattern is read as a host of its own: the same rules hold for the rest.
        let rest = isPattern ? String(text.dropFirst(2)) : text
        let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard !rest.contains("/"), !rest.contains("?"), !rest.contains("#"),
            let host = WebPushSubscription.authority(rest),
            !isPattern || (host.name.contains(".") && !host.name.allSatisfy { $0.isNumber || $0 == "." }),
            parts.count <= 2
        else { return nil }
        description = text
        name = isPattern ? "." + host.name : host.name
        port = host.port
    }

    /// Whether the host and port of an endpoint may be pushed to.
    public func covers(host: String, port: UInt16) -> Bool {
        guard port == self.port else { return false }
        return isExact ? host == name : host.hasSuffix(name) && host.utf8.count > name.utf8.count
    }
}
