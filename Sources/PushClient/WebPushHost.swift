import CallVocabulary

/// A host that may be pushed to: `fcm.googleapis.com`, `*.push.apple.com` for all its subdomains, or with a port other than
/// 443, `127.0.0.1:8443`.
public struct WebPushHost: Equatable, Sendable, CustomStringConvertible {
    public let description: String
    /// With a dot at the front for a pattern.
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
        guard let host = WebPushSubscription.authority(rest),
            !isPattern || (host.name.contains(".") && !host.name.allSatisfy { $0.isNumber || $0 == "." })
        else { return nil }
        description = text.hasSuffix(":443") ? String(text.dropLast(4)) : text
        name = isPattern ? "." + host.name : host.name
        port = host.port
    }

    /// Whether the host and port of an endpoint may be pushed to.
    public func covers(host: String, port: UInt16) -> Bool {
        guard port == self.port else { return false }
        return isExact ? host == name : host.hasSuffix(name) && host.utf8.count > name.utf8.count
    }
}
