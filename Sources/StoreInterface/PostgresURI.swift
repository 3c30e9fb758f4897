import CallVocabulary

/// A connection URI of libpq, taken apart as libpq does it.
///
/// A text that could be read in two ways is none. In a password that is not percent-encoded, `@`, `/` and `?` end the
/// password for libpq or for a reader: the rest of it would pass for a host, a port or a parameter, and be shown.
struct PostgresURI {
    static let schemes = ["postgres://", "postgresql://"]

    private struct Parameter {
        /// As it stands in the URI.
        let text: String
        let name: String
        let value: String
    }

    private let scheme: String
    /// As it stands in the URI; nil without `@`.
    private let user: String?
    private let hasUserPassword: Bool
    /// Hosts, ports and the database, as they stand in the URI.
    private let place: String
    /// The hosts before the path, with commas between them, and so their ports; nil without any.
    private let hosts: String?
    private let ports: String?
    private let parameters: [Parameter]

    init?(_ text: String) {
        guard let scheme = Self.schemes.first(where: { text.hasPrefix($0) }) else { return nil }
        let rest = Array(text.utf8.dropFirst(scheme.utf8.count))[...]
        guard Self.isEncoded(rest) else { return nil }
        let authorityEnd = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let pathEnd = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let parts = rest[..<authorityEnd].split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count <= 2, !rest[authorityEnd...].contains(UInt8(ascii: "@")), let last = parts.last,
            let places = Self.places(last), let parameters = Self.parameters(rest[pathEnd...].dropFirst())
        else { return nil }
        let userInfo = (parts.count == 2 ? parts[0] : []).split(
            separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        self.scheme = scheme
        user = parts.count == 2 ? userInfo.first.map { String(decoding: $0, as: UTF8.self) } : nil
        hasUserPassword = userInfo.count == 2 && !userInfo[1].isEmpty
        place = String(decoding: rest[last.startIndex..<pathEnd], as: UTF8.self)
        hosts = places.hosts.isEmpty ? nil : Self.decoded(places.hosts)
        ports = places.ports.isEmpty ? nil : String(decoding: places.ports, as: UTF8.self)
        self.parameters = parameters
    }

    /// Whether there are no spaces and control characters, and each `%` begins the code of a byte other than zero.
    private static func isEncoded(_ text: ArraySlice<UInt8>) -> Bool {
        text.indices.allSatisfy { index in
            switch text[index] {
            case UInt8(ascii: "%"): (code(text[index...].dropFirst()) ?? 0) > 0
            case let byte: byte > 0x20 && byte != 0x7F
            }
        }
    }

    /// The byte of two hexadecimal digits at the beginning.
    private static func code(_ text: ArraySlice<UInt8>) -> UInt8? {
        text.count < 2 ? nil : UInt8(digits: text.prefix(2), radix: 16, in: 0...UInt8.max)
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let code = code(rest) {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The hosts of `host:port,[host]:port`, still encoded, and their ports; nil unless ports are numbers.
    private static func places(_ text: ArraySlice<UInt8>) -> (hosts: ArraySlice<UInt8>, ports: ArraySlice<UInt8>)? {
        var (hosts, ports): ([ArraySlice<UInt8>], [ArraySlice<UInt8>]) = ([], [])
        for part in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            var (host, port) = (part, part[part.endIndex...])
            if part.first == UInt8(ascii: "[") {
                guard let end = part.firstIndex(of: UInt8(ascii: "]")) else { return nil }
                (host, port) = (part[..<end].dropFirst(), part[end...].dropFirst())
            } else if let colon = part.firstIndex(of: UInt8(ascii: ":")) {
                (host, port) = (part[..<colon], part[colon...])
            }
            let brackets = [UInt8(ascii: "["), UInt8(ascii: "]")]
            guard !host.contains(where: brackets.contains), port.first ?? UInt8(ascii: ":") == UInt8(ascii: ":"),
                port.dropFirst().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            else { return nil }
            hosts.append(host)
            ports.append(port.dropFirst())
        }
        let comma = [UInt8(ascii: ",")]
        return (ArraySlice(hosts.joined(separator: comma)), ArraySlice(ports.joined(separator: comma)))
    }

    /// nil unless each is a name and a value.
    private static func parameters(_ query: ArraySlice<UInt8>) -> [Parameter]? {
        var parameters: [Parameter] = []
        for part in query.split(separator: UInt8(ascii: "&")) {
            let sides = part.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
            guard sides.count == 2 else { return nil }
            parameters.append(
                Parameter(
                    text: String(decoding: part, as: UTF8.self), name: decoded(sides[0]), value: decoded(sides[1])))
        }
        return parameters
    }

    // MARK: What it says

    /// Without passwords, and with no parameters but hosts and ports.
    var redacted: String {
        let harmless = parameters.filter { ["host", "hostaddr", "port", "dbname"].contains($0.name) }.map(\.text)
        return scheme + (user.map { $0 + "@" } ?? "") + place
            + (harmless.isEmpty ? "" : "?" + harmless.joined(separator: "&"))
    }

    var hasPassword: Bool {
        hasUserPassword
            || parameters.contains { ["password", "sslpassword"].contains($0.name) && !$0.value.isEmpty }
    }

    /// Of a parameter that is there twice, libpq takes the last.
    private func value(_ name: String) -> String? { parameters.last { $0.name == name }?.value }

    /// See ``PostgresAddress/servers``.
    var servers: [PostgresAddress.Server] {
        let hosts = Self.list(value("host") ?? hosts)
        let ports = Self.list(value("port") ?? ports)
        // A `hostaddr` has as many entries as `host`.
        guard hosts.count > 1, value("hostaddr") == nil, ports.count <= 1 || ports.count == hosts.count else {
            return []
        }
        return hosts.indices.map { index in
            // One port is that of all hosts.
            let port = ports.count > 1 ? ports[index] : ports.first ?? ""
            return PostgresAddress.Server(host: String(hosts[index]), port: String(port))
        }
    }

    /// See ``PostgresAddress/exposedHost(_:)``.
    func exposedHost(_ variable: (String) -> String?) -> String? {
        // A service may name hosts and a mode, which come before those of the environment.
        let service = value("service") ?? variable("PGSERVICE")
        if ["verify-full", "verify-ca"].contains(sslMode ?? (service == nil ? variable("PGSSLMODE") : nil)) {
            return nil
        }
        if let service { return "the service '\(service)'" }
        let hosts = Self.list(value("host") ?? hosts ?? variable("PGHOST"))
        let addresses = Self.list(value("hostaddr") ?? variable("PGHOSTADDR"))
        for index in 0..<max(hosts.count, addresses.count) {
            let host = index < hosts.count ? hosts[index] : ""
            let address = index < addresses.count ? addresses[index] : ""
            // The host of an address is only the name in its certificate.
            let place = address.isEmpty ? host : address
            if !Self.isOfThisMachine(place) { return String(place) }
        }
        return nil
    }

    private var sslMode: String? {
        parameters.last { $0.name == "sslmode" || ($0.name == "ssl" && $0.value == "true") }.map {
            $0.name == "ssl" ? "require" : $0.value
        }
    }

    private static func list(_ text: String?) -> [Substring] {
        text?.split(separator: ",", omittingEmptySubsequences: false) ?? []
    }

    /// Whether a host is the folder or name of a Unix socket, or an address of this machine in its usual form.
    private static func isOfThisMachine(_ host: Substring) -> Bool {
        guard let first = host.utf8.first else { return true }
        if first == UInt8(ascii: "/") || first == UInt8(ascii: "@") { return true }
        if host.lowercased() == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in UInt8(part).map { "\($0)" == part } ?? false }
    }
}
