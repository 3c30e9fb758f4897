import CallCore
import CallVocabulary
import Testing

@testable import CallServer

@Suite("Tokens of backends")
struct BackendTokenTests {
    @Test("a token that was made is found by its text alone, with its name, role and users")
    func made() throws {
        let scope = BackendScope(users: ["support-*", "alice"])
        let made = BackendToken.make(name: "crm", role: .admin, scope: scope)
        let other = BackendToken.make(name: "pbx", role: .calls, scope: BackendScope())
        #expect(made.text.utf8.count >= 64 && !made.line.contains(made.text))
        let file = "# a comment\n\n\(made.line)\r\n\(other.line)\n"
        let tokens = BackendTokens(try BackendToken.read(file))
        let found = try #require(tokens.find(made.text))
        #expect(found.name == "crm" && found.role == .admin && found.scope == scope)
        #expect(tokens.find(other.text)?.scope == BackendScope())
        #expect(tokens.find(made.text + "0") == nil && tokens.find("") == nil)
        #expect(tokens.find(found.digest) == nil, "the file is of no use to its reader")
        tokens.replace(with: try BackendToken.read(other.line))
        #expect(tokens.find(made.text) == nil && tokens.find(other.text) != nil)
    }

    @Test("old and new tokens of one name hold side by side during a rotation")
    func rotation() throws {
        let made = (0..<2).map { _ in BackendToken.make(name: "pbx", role: .calls, scope: BackendScope()) }
        let tokens = BackendTokens(try BackendToken.read(made.map(\.line).joined(separator: "\n")))
        #expect(made.allSatisfy { tokens.find($0.text)?.name == "pbx" })
    }

    @Test("a handle that begins with a combining mark is one of the users")
    func marks() throws {
        let scope = BackendScope(users: ["\u{301}a", "\u{301}b*"])
        let line = BackendToken.make(name: "crm", role: .read, scope: scope).line
        #expect(try BackendToken.read(line).first?.scope == scope)
    }

    @Test("a realm's tokens count beside those of the file, and each kind is replaced by itself")
    func shared() throws {
        let (own, other) = (
            BackendToken.make(name: "pbx", role: .calls, scope: BackendScope()),
            BackendToken.make(name: "crm", role: .read, scope: BackendScope())
        )
        let tokens = BackendTokens(try BackendToken.read(own.line))
        // The second line is of a version that does not exist yet.
        tokens.replaceShared(with: BackendToken.shared(Array("\(other.line)\nnext version 2\n".utf8)))
        #expect(tokens.find(own.text)?.name == "pbx" && tokens.find(other.text)?.name == "crm")
        tokens.replace(with: [])
        #expect(tokens.find(own.text) == nil && tokens.find(other.text)?.role == .read)
        tokens.replaceShared(with: BackendToken.shared([]))
        #expect(tokens.find(other.text) == nil)
    }

    @Test("to revoke a name takes away all of its lines, and nothing else")
    func revocation() throws {
        let lines = ["pbx", "crm", "pbx", "pbx-2"].map {
            BackendToken.make(name: $0, role: .calls, scope: BackendScope()).line
        }
        let rest = BackendToken.without("pbx", "# pbx is ours\n" + lines.joined(separator: "\n") + "\n")
        #expect(rest.count == 2 && rest.text == "# pbx is ours\n\(lines[1])\n\(lines[3])\n")
        let same = BackendToken.without("other", rest.text)
        #expect(same.count == 0 && same.text == rest.text)
    }

    @Test(
        "a line that is no token is named with its number and its fault",
        arguments: [
            ("pbx calls *", "line 1: expected NAME ROLE USERS SHA256"),
            ("#\n\npbx calls * 12", "line 3: expected the SHA-256 of the token, 64 hexadecimal digits"),
            ("pbx chief * 12", "line 1: expected one of read, calls, admin, not chief"),
            ("p/x calls * 12", "line 1: " + BackendToken.nameRule),
            ("pbx calls ,a 12", "line 1: " + BackendToken.scopeRule),
        ])
    func faults(text: String, fault: String) {
        #expect { try BackendToken.read(text) } throws: { "\($0)" == fault }
    }

    @Test("each role has the rights of those before it")
    func roles() {
        #expect(BackendToken.Role.allCases == BackendToken.Role.allCases.sorted())
        #expect(BackendToken.Role.read < .calls && BackendToken.Role.calls < .admin)
    }

    @Test("a scope includes the handles that it lists, and those that begin as a pattern does, byte for byte")
    func scope() throws {
        let scope = try #require(BackendToken.scope("alice,support-*"))
        for (handle, isIncluded) in [
            ("alice", true), ("alice2", false), ("Alice", false), ("support-", true), ("support-7", true),
            ("support", false),
        ] {
            #expect(scope.includes(try #require(Handle(handle))) == isIncluded)
        }
        #expect(BackendScope().includes(try #require(Handle("anybody"))))
        #expect(BackendToken.scope("") == nil && BackendToken.scope("a b") == nil)
    }

    @Test("a word in place of a role that may be the token is not shown")
    func hiddenToken() {
        let text = BackendToken.make(name: "pbx", role: .calls, scope: BackendScope()).text
        #expect { try BackendToken.read("pbx \(text) * 12") } throws: { !"\($0)".contains(text.prefix(20)) }
    }

    @Test("a key names the same call each time, and another one for another token or with another secret")
    func keys() throws {
        let lines = ["pbx", "crm"].map { BackendToken.make(name: $0, role: .calls, scope: BackendScope()).line }
        let tokens = try BackendToken.read(lines.joined(separator: "\n"))
        let secret = [UInt8](repeating: 7, count: 32)
        let call = tokens[0].call(of: "key", secret: secret)
        #expect(call == tokens[0].call(of: "key", secret: secret))
        #expect(
            call != tokens[0].call(of: "key2", secret: secret) && call != tokens[1].call(of: "key", secret: secret))
        #expect(call != tokens[0].call(of: "key", secret: [UInt8](repeating: 8, count: 32)))
        #expect("\(call)".dropFirst(14).first == "8", "version 8")
    }
}
