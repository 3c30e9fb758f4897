import CallVocabulary

/// A parsed `ws://host:port/path` or `wss://host:port/path`.
public struct WebSocketURL: Sendable, Hashable, CustomStringConvertible {
    public let isSecure: Bool
    /// A name or a numeric address, IPv6 without brackets.
    public let host: String
    public let port: UInt16
    /// Begins with a slash; includes the query.
    public let path: String

    public init(isSecure: Bool, host: String, port: UInt16, path: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.path = path
    }

    /// Without a port, 80 or 443; without a path, `/`. nil for other schemes.
    public init?(_ text: String) {
        var rest = text[...]
        if rest.hasPrefix("wss://") {
            isSecure = true
            rest = rest.dropFirst(6)
        } else if rest.hasPrefix("ws://") {
            isSecure = false
            rest = rest.dropFirst(5)
        } else {
            return nil
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let target = rest.dropFirst(authority.count).prefix { $0 != "#" }
        path = target.isEmpty ? "/" : target.hasPrefix("/") ? String(target) : "/" + target
        guard let (host, port) = Self.split(authority, standardPort: isSecure ? 443 : 80) else { return nil }
        self.host = host
        self.port = port
    }

    private static func split(_ authority: Substring, standardPort: UInt16) -> (String, UInt16)? {
        var host = authority
        var port = standardPort
        let isBracketed = authority.hasPrefix("[")
        guard isBracketed == authority.contains("]") else { return nil }
        let afterHost = isBracketed ? authority[authority.firstIndex(of: "]")!...].dropFirst() : authority
        if let colon = afterHost.firstIndex(of: ":") {
            let digits = afterHost[afterHost.index(after: colon)...]
            guard let number = UInt16(digits: digits, in: 1...UInt16.max) else { return nil }
            if isBracketed, colon != afterHost.startIndex { return nil }
            port = number
            host = authority[..<colon]
        } else if isBracketed, !afterHost.isEmpty {
            return nil
        }
        if isBracketed { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !host.contains(where: { "@[".contains($0) }) else { return nil }
        return (String(host), port)
    }

    public var description: String {
        "\(isSecure ? "wss" : "ws")://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
    }
}
