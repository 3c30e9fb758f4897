import CallVocabulary

/// The address of a PostgreSQL store: a connection URI of libpq, and the realm, whose schema has the tables.
public struct PostgresAddress: Hashable, Sendable, CustomStringConvertible {
    public static let standardRealm = "reveille"
    /// The rule for realms, to follow "a realm: ".
    public static let realmRule = "1 to 40 of a-z, 0-9 and _, not beginning with a digit or pg_"
    /// The reason and the advice for a text that begins as an address and is none. The text itself may have a password.
    public static let unreadable = "the address of the database cannot be read; it is not shown, for its password"
    public static let encodingAdvice =
        "percent-encode the characters @ / ? % : & = [ ] and spaces in its user, password and values, such as @ as %40"

    /// The reason and the advice for a password in the arguments of a command.
    public static let passwordInArguments = "every user of this machine can read a password in a command's arguments"
    public static let passwordAdvice =
        "take it out, and give it in PGPASSWORD, in a pgpass file (~/.pgpass), or in the settings file"

    /// With its password, if any.
    public let uri: String
    public let realm: String
    /// Allows connections to other machines without verified encryption.
    public var allowsUnencrypted = false

    /// - Returns: nil for a text that is no such URI, or cannot be read in one way only, or a realm against
    ///   ``realmRule``.
    public init?(_ uri: String, realm: String = Self.standardRealm) {
        guard PostgresURI(uri) != nil, Self.isRealm(realm) else { return nil }
        self.uri = uri
        self.realm = realm
    }

    /// Whether the text begins as an address.
    public static func isAddress(_ text: String) -> Bool { PostgresURI.schemes.contains { text.hasPrefix($0) } }

    /// Whether a text in the place of a folder's path is meant as an address, in whatever form. It may have a password.
    public static func isMeant(by path: String) -> Bool {
        // A mistyped address still has its password: `user:password@host`, whatever its beginning.
        let user = path.utf8.lastIndex(of: UInt8(ascii: "@")).map { path.utf8[..<$0] } ?? "".utf8[...]
        return path.utf8.firstRange(of: "://".utf8) != nil || user.contains(UInt8(ascii: ":"))
            || path.utf8.firstRange(of: "password".utf8) != nil && path.utf8.contains(UInt8(ascii: "="))
    }

    /// A host, and its port or an empty text.
    public struct Server: Equatable, Sendable {
        public let host: String
        public let port: String
    }

    /// The hosts of the URI in its order; none if it has less than two, or addresses beside their names.
    public var servers: [Server] { PostgresURI(uri)?.servers ?? [] }

    /// Whether the URI has a password.
    public var hasPassword: Bool { PostgresURI(uri)?.hasPassword ?? true }

    /// A host, or a service file's entry, that connections would reach over a network without verified encryption; nil
    /// when there is none, or when it is allowed.
    /// - Parameter variable: the environment, which libpq asks for what the URI does not say.
    public func exposedHost(_ variable: (String) -> String?) -> String? {
        allowsUnencrypted ? nil : PostgresURI(uri)?.exposedHost(variable)
    }

    /// Why connections to such a host are refused, and what to do, in two parts of one sentence.
    public static func exposure(of host: String) -> (reason: String, advice: String) {
        (
            "\(host) is reached over a network, and all records and token secrets would go there unencrypted",
            "add sslmode=verify-full to the address, with sslrootcert=FILE for an authority of your own; or say "
                + "store.unencrypted_database: true for a network that nobody else can read"
        )
    }

    public static func isRealm(_ name: String) -> Bool {
        guard (1...40).contains(name.utf8.count), !name.hasPrefix("pg_") else { return false }
        let isWord = name.utf8.allSatisfy {
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
                || $0 == UInt8(ascii: "_")
        }
        return isWord && !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= (name.utf8.first ?? 0))
    }

    /// The URI without passwords, and with no parameters but hosts and ports, then the realm unless it is the standard one.
    public var description: String {
        Self.redacted(uri) + (realm == Self.standardRealm ? "" : " realm \(realm)")
    }

    /// The SQL that makes the database of this address for its user.
    /// - Parameter description: of an address.
    static func creation(ofDatabaseAt description: String) -> String {
        let uri = description.prefix { $0 != " " }
        let rest = PostgresURI.schemes.first { uri.hasPrefix($0) }.map { uri.dropFirst($0.count) } ?? uri
        let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let place = parts.first ?? ""
        let user = place.lastIndex(of: "@").map { place[..<$0] }
        let named = parts.dropFirst().first?.split(separator: "&").first { $0.hasPrefix("dbname=") }
        let path = place.firstIndex(of: "/").map { place[place.index(after: $0)...] }
        let name = named?.dropFirst("dbname=".count) ?? path.flatMap { $0.isEmpty ? nil : $0 } ?? user ?? "reveille"
        let owner = user.map { $0.isEmpty ? "" : " OWNER \(identifier($0))" } ?? ""
        return "CREATE DATABASE \(identifier(name))\(owner) ENCODING 'UTF8' TEMPLATE template0"
    }

    /// A part of a URI as a name in SQL. Always quoted: without quotes, a name such as `user` is a key word.
    private static func identifier(_ part: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(part.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let code = UInt8(digits: digits, radix: 16, in: 0...UInt8.max)
            {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
            // SQL doubles a quote within quotes.
            if bytes.last == UInt8(ascii: "\"") { bytes.append(UInt8(ascii: "\"")) }
        }
        return "\"\(String(decoding: bytes, as: UTF8.self))\""
    }

    /// The URI without secrets. Any text is accepted; of one that cannot be read nothing is shown.
    public static func redacted(_ uri: String) -> String { PostgresURI(uri)?.redacted ?? "…" }
}
