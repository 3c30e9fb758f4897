import CallCore
import CallVocabulary
import Crypto
import EventLoop

/// A backend's bearer token: its name, role, scope and hash. Only the backend has the token itself.
public struct BackendToken: Equatable, Sendable {
    /// The rights of a token. Each role includes the rights of the roles before it.
    public enum Role: String, CaseIterable, Comparable, Sendable {
        case read, calls, admin

        public static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

        private var rank: Int {
            switch self {
            case .read: 0
            case .calls: 1
            case .admin: 2
            }
        }
    }

    /// An invalid line of a file of tokens, and the reason.
    public struct Fault: Error, Equatable, CustomStringConvertible, Sendable {
        public let line: Int
        public let reason: String
        public var description: String { "line \(line): \(reason)" }
    }

    /// The name of the file with the tokens, in the data folder.
    public static let standardFile = "backend-tokens"
    /// The longest time until the home of a realm knows a change of the realm's tokens.
    public static let sharedWithin = Duration.seconds(2)
    /// The form of a line, for help texts.
    public static let form = "NAME ROLE USERS SHA256"
    private static let prefix = "rvb_"
    private static let longestName = 64
    private static let longestShown = 16

    public let name: String
    public let role: Role
    public let scope: BackendScope
    /// The SHA-256 of the token, in hexadecimal.
    let digest: String

    // MARK: The file

    /// Reads a file of tokens, one per line in the form ``form``. Skips empty lines and lines that begin with `#`.
    public static func read(_ text: String) throws(Fault) -> [BackendToken] {
        var tokens: [BackendToken] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.parts(at: " ").filter { !$0.isEmpty }
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            do throws(Reason) {
                tokens.append(try BackendToken(words))
            } catch {
                throw Fault(line: index + 1, reason: error.text)
            }
        }
        return tokens
    }

    /// The tokens that the nodes of a realm share: the lines of such a file. A line of a later version is skipped.
    static func shared(_ content: [UInt8]) -> [BackendToken] {
        String(decoding: content, as: UTF8.self).split(whereSeparator: \.isNewline)
            .flatMap { (try? read(String($0))) ?? [] }
    }

    /// The text of a file without the lines of one token's name.
    /// - Returns: also how many lines that were.
    public static func without(_ name: String, _ text: String) -> (text: String, count: Int) {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let rest = lines.filter { line in line.parts(at: " ").first { !$0.isEmpty } != name[...] }
        return (rest.joined(separator: "\n"), lines.count - rest.count)
    }

    private struct Reason: Error {
        let text: String
    }

    private init(_ words: [Substring]) throws(Reason) {
        guard words.count == 4 else { throw Reason(text: "expected \(Self.form)") }
        guard Self.isName(words[0]) else { throw Reason(text: Self.nameRule) }
        guard let role = Role(rawValue: String(words[1])) else {
            // A longer word may be the token itself.
            let found = words[1].utf8.count <= Self.longestShown ? ", not \(words[1])" : ""
            throw Reason(text: "expected one of \(Role.names)\(found)")
        }
        guard let scope = Self.scope(words[2]) else { throw Reason(text: Self.scopeRule) }
        let digest = words[3].lowercased()
        guard digest.utf8.count == 64, digest.allSatisfy(\.isHexDigit) else {
            throw Reason(text: "expected the SHA-256 of the token, 64 hexadecimal digits")
        }
        (name, self.role, self.scope, self.digest) = (String(words[0]), role, scope, digest)
    }

    public static let nameRule = "a name is 1 to \(longestName) of A-Z a-z 0-9 - . _"
    public static let scopeRule =
        "users are *, or handles separated by commas; a handle that ends in * stands for all that begin with it"

    public static func isName(_ text: some StringProtocol) -> Bool {
        (1...longestName).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Parses a scope; nil for an invalid text.
    public static func scope(_ text: some StringProtocol) -> BackendScope? {
        if text == "*" { return BackendScope() }
        let users = text.parts(at: ",").map { String($0) }
        return users.allSatisfy { Handle($0) != nil } ? BackendScope(users: users) : nil
    }

    /// Makes a token: 32 random bytes.
    /// - Returns: the line for the file, and the text for the backend.
    public static func make(name: String, role: Role, scope: BackendScope) -> (line: String, text: String) {
        var random = SystemRandomness()
        let text = prefix + (0..<8).map { _ in hexadecimal(UInt32.random(in: 0 ... .max, using: &random)) }.joined()
        let users = scope.users?.joined(separator: ",") ?? "*"
        return ("\(name) \(role.rawValue) \(users) \(digest(of: text))", text)
    }

    private static func hexadecimal(_ word: UInt32) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    static func digest(of text: String) -> String {
        SHA256.hash(data: Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: Use

    /// The id of the call that a request with this `Idempotency-Key` starts: the same each time, and another for each
    /// token's name. A UUID of version 8 (RFC 9562, 5.8).
    /// - Parameter secret: without it nobody can tell the id from the key, which may be the number of an order. All
    ///   servers of a realm have the same.
    func call(of key: String, secret: [UInt8]) -> CallID {
        let text = Array("reveille call\0\(name)\0\(key)".utf8)
        let code = HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: secret))
        var bytes = Array(code.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return CallID(high: word(bytes[..<8]), low: word(bytes[8...]))
    }
}

extension BackendToken.Role {
    public static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
