import EventLoop
import Foundation

/// The URL of a resource of another server: `https://`, or `http://` with `localhost` or a loopback address.
public struct WebAddress: Equatable, Sendable, CustomStringConvertible {
    public let isSecure: Bool
    /// Without the brackets of an IPv6 address.
    public let host: String
    public let port: UInt16
    /// The path and the query. Either may have a secret.
    public let target: String
    /// The whole URL, to be stored, and not to be shown.
    package let text: String

    /// nil for anything else, and for an address with a user or a fragment.
    public init?(_ text: String) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let parts = URLComponents(string: text),
            let scheme = parts.scheme?.lowercased(), scheme == "https" || scheme == "http",
            parts.user == nil, parts.password == nil, parts.fragment == nil,
            let found = parts.host, !found.isEmpty
        else { return nil }
        let host = found.hasPrefix("[") ? String(found.dropFirst().dropLast()) : found
        isSecure = scheme == "https"
        guard let port = UInt16(exactly: parts.port ?? (isSecure ? 443 : 80)), port > 0 else { return nil }
        // Others on the network could read requests and forge answers.
        if !isSecure {
            guard let address = SocketAddress(host: host, port: port), address.isLoopback else { return nil }
        }
        self.host = host
        self.port = port
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        target = path + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
        self.text = text
    }

    /// The `Host` of a request.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// Where connections go, and what their TLS certificate must name.
    struct Origin: Hashable {
        let isSecure: Bool
        let host: String
        let port: UInt16
    }

    var origin: Origin { Origin(isSecure: isSecure, host: host.lowercased(), port: port) }

    /// Without path and query, which may have a secret.
    public var description: String { "\(isSecure ? "https" : "http")://\(authority)" }
}
