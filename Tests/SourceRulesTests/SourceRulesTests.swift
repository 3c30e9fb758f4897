import Foundation
import Testing

/// The project's own sources against its rules, and each rule against a tree that breaks it.
@Suite("The rules that the sources keep")
struct SourceRulesTests {
    typealias Rule = @Sendable (SourceTree) -> [String]

    private static let rules: [(name: String, rule: Rule)] = [
        ("imports", SourceRules.imports), ("purity", SourceRules.purity), ("phones", SourceRules.phones),
        ("simulation", SourceRules.simulation), ("storeKinds", SourceRules.storeKinds),
        ("receipts", SourceRules.receipts), ("privateFiles", SourceRules.privateFiles),
        ("readFiles", SourceRules.readFiles), ("clocks", SourceRules.clocks), ("proofs", SourceRules.proofs),
        ("texts", SourceRules.texts), ("delimiters", SourceRules.delimiters),
        ("costs", SourceRules.costs), ("shares", SourceRules.shares),
        ("pointers", SourceRules.pointers), ("keptPointers", SourceRules.keptPointers),
        ("peerNumbers", SourceRules.peerNumbers),
        ("functionLengths", SourceRules.functionLengths), ("names", SourceRules.names),
        ("articles", SourceRules.articles), ("namedFiles", SourceRules.namedFiles),
        ("namedSuites", SourceRules.namedSuites), ("links", SourceRules.links), ("readme", SourceRules.readme),
        ("passes", SourceRules.passes), ("order", SourceRules.order), ("deadlines", SourceRules.deadlines),
    ]

    @Test("hold in this tree", arguments: rules.map(\.name))
    func hold(_ name: String) throws {
        #expect(SourceTree.project.files.count > 500)
        #expect(SourceTree.project.package.targets.count > 50)
        #expect(SourceTree.project.samples.count > 10)
        let rule = try #require(Self.rules.first { $0.name == name }).rule
        #expect(rule(.project) == [])
    }

    /// A tree of one file, in a package of the targets that the rules name.
    private static func tree(
        _ source: String, in target: String = "CallCore", listing: String = "", article: String = "Imports: nothing."
    ) -> SourceTree {
        let others = SourceRules.pureTargets + ["CallServer", "ServerSettings", "PushSimulator", "HTTP2"]
        let list = others.map { #"library("\#($0)", [\#($0 == target ? listing : "")]),"# }.joined(separator: "\n")
        return SourceTree(
            package: PackageDescription(list),
            files: [SourceTree.File(path: "Sources/\(target)/File.swift", lines: source.components(separatedBy: "\n"))],
            articles: [
                SourceTree.File(
                    path: "Sources/\(target)/\(target).docc/\(target).md", lines: article.components(separatedBy: "\n"))
            ])
    }

    @Test("find a parser that no suite times with the worst inputs")
    func costs() {
        let parsers = SourceTree.File(
            path: "Tests/Fuzzing/Parsers/Parser.swift",
            lines: ["    case keys", "    case new = \"a-new-one\"", "    case journal", "        case .keys: check()"])
        let suite = SourceTree.File(
            path: "Tests/ClientTokensTests/TokenKeySetTests.swift", lines: ["let growth = WorstInput.growth(at: 1)"])
        let unknown = "no suite times the parser new with the worst inputs"
        let package = PackageDescription("")
        #expect(SourceRules.costs(SourceTree(package: package, files: [parsers, suite])) == [unknown])
        let untimed = "no suite times the parser keys with the worst inputs"
        #expect(SourceRules.costs(SourceTree(package: package, files: [parsers])) == [untimed, unknown])
    }

    @Test("find a bound that the table of shares does not have")
    func shares() {
        func found(_ line: String) -> [String] { SourceRules.shares(Self.tree(line)) }
        for (line, name) in [
            ("    private static let mostWaiting = 5", "mostWaiting"), ("static let capacity = 1 << 20", "capacity"),
            ("    public var queueCapacity = 20_000", "queueCapacity"), ("static var most: Int { 5 }", "most"),
            ("let mostWaiting = 5", "mostWaiting"),
        ] {
            #expect(found(line) == ["File.\(name) has no row of shares, and is nobody's own"])
        }
        for line in ["let mostWaiting: Int", "var capacity: Int {", "static let almost = 5", "static func most() {}"] {
            #expect(found(line) == [])
        }
    }

    @Test("find what differs in each process, of what is repeated from a seed")
    func order() {
        for source in [
            "for user in users.values { a(user) }", "let a = b.keys.map { c($0) }",
            "let a: Set<Int> = []\nfor b in a { c(b) }", "var a: [Int: Int] = [:]\nlet b = a.first.map { $0.key }",
            "var a = Set(b)\nreturn Array(a)",
            "let a = Set(b)\nreturn a.map { c($0) }", "private var a: [B.C: [D]] = [:]\nfor (b, c) in a where b {",
            "a[ObjectIdentifier(b)] = c", "let a = b.hashValue", "var a = SystemRandomNumberGenerator()",
            "let a = b.randomElement()", "let a = Identifier.random()",
        ] {
            #expect(SourceRules.order(Self.tree(source)).count == 1, "\(source)")
            #expect(SourceRules.order(Self.tree(source, in: "CallServer")) == [], "\(source)")
        }
        for source in [
            "for a in b.values.sorted() {", "b.values.contains { c($0) }", "// for a in b.values {",
            "let a: Set<Int> = []\nif a.contains(1) {}", "let a: [Int] = []\nfor b in a { c(b) }",
            "var a = Set(b)\na = a.filter { c($0) }", "var a = Set(b)\nfor c in d.a { e(c) }",
            "for a in disk.calls.keys {", "let a = b.randomElement(using: &random)",
        ] {
            #expect(SourceRules.order(Self.tree(source)) == [], "\(source)")
        }
    }

    @Test("find a deadline that is set beside the one before")
    func deadlines() {
        let place = ["Sources/CallCore/File.swift:1 sets a deadline beside the one before"]
        #expect(SourceRules.deadlines(Self.tree("call.deadline = deadlines.add(.ring(call), at: due)")) == place)
        for code in ["_ = deadlines.add(.drainingNotice, at: due)", "schedule(.ring(a), at: due, in: &a.deadline)"] {
            #expect(SourceRules.deadlines(Self.tree(code)) == [])
        }
    }

    @Test("find what gives away a pointer into memory that a C library owns")
    func pointers() {
        func found(_ source: String) -> [String] { SourceRules.pointers(Self.tree(source, in: "HTTP2")) }
        func line(_ number: Int, _ name: String) -> [String] {
            ["Sources/HTTP2/File.swift:\(number): \(name) gives away a pointer; pass it to a closure"]
        }
        #expect(found("func bytes(_ a: Int) -> UnsafeRawBufferPointer? {") == line(1, "bytes"))
        #expect(found("    func rows(\n        _ a: Int\n    ) throws -> [UnsafePointer<CChar>] {") == line(3, "rows"))
        #expect(found("subscript(a: Int) -> UnsafePointer<Int> { b }") == line(1, "subscript"))
        #expect(found("struct A {\n    package let bytes: UnsafeRawBufferPointer\n}") == line(2, "bytes"))
        #expect(found("struct A {\n    private(set) var bytes: UnsafeRawPointer { b }\n}") == line(2, "bytes"))
        #expect(found("let bytes = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)") == line(1, "bytes"))
        let kept = [
            "func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {",
            "struct A {\n    private let bytes: UnsafeRawBufferPointer\n}",
            "struct A {\n    func b() {\n        var bytes: UnsafePointer<UInt8>?\n    }\n}",
            "// func bytes() -> UnsafeRawPointer {",
        ]
        for source in kept { #expect(found(source) == []) }
        // Only of targets that wrap a library.
        #expect(SourceRules.pointers(Self.tree("func bytes() -> UnsafeRawPointer {")) == [])
    }

    @Test("find a pointer that is kept without a reason")
    func keptPointers() {
        func found(_ source: String) -> [String] { SourceRules.keptPointers(Self.tree(source, in: "HTTP2")) }
        for line in [
            "case bytes(UnsafeRawBufferPointer)", "case bytes(of: Int, OpaquePointer?)",
            "private let bytes: UnsafePointer<UInt8>", "private var bytes: [OpaquePointer] = []",
            "nonisolated(unsafe) let bytes: OpaquePointer", "private(set) var bytes: OpaquePointer!",
            "private let bytes = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)",
        ] {
            let place = "Sources/HTTP2/File.swift:2: bytes keeps a pointer; say in keepers what keeps its memory"
            #expect(found("final class A {\n    \(line)\n}") == [place], "\(line)")
        }
        for line in [
            "case .bytes(let start): read(UnsafeRawPointer(start))", "// let bytes: OpaquePointer",
            "var onBytes: ((UnsafeRawBufferPointer) -> Void)?",
            "func read() {\n        var bytes: OpaquePointer?\n    }",
        ] {
            #expect(found("final class A {\n    \(line)\n}") == [], "\(line)")
        }
        // Only of targets that wrap a library.
        #expect(SourceRules.keptPointers(Self.tree("case bytes(UnsafeRawBufferPointer)")) == [])
    }

    @Test("find a read of a type's own memory that does not keep the type alive")
    func unextended() {
        func found(_ source: String) -> [String] {
            let file = SourceTree.File(path: "File.swift", lines: source.components(separatedBy: "\n"))
            return SourceRules.unextended(file, ["raw"])
        }
        let place = ["File.swift:1: raw is read without withExtendedLifetime"]
        #expect(found("var count: Int32 { library.PQntuples(raw) }") == place)
        #expect(found("    func name(_ a: Int32) -> String? {\n        text(PQfname(raw, a))\n    }") == place)
        for source in [
            "var count: Int32 { withExtendedLifetime(self) { library.PQntuples(raw) } }",
            "var count: Int32 { withRaw { library.PQntuples($0) } }", "var raw: Int { 1 }",
            "var count: Int32 {\n    let count = PQntuples(raw)\n    note(count)\n    return count\n}",
        ] {
            #expect(found(source) == [], "\(source)")
        }
    }

    @Test(
        "refuse a number of others without a range, however it is read",
        arguments: [
            "let age = Int(text)", "guard let port = UInt16(rest), port > 0 else { return nil }",
            "if parts.count == 2, let time = Int64(parts[0]) { return time }", "return UInt64(value, radix: 16)",
            "return field(name).flatMap { Int($0) }", "let numbers = words.compactMap(Int64.init)",
            "let clock = line.split(separator: \":\").map { Int64($0) }", "let seconds = Int(value) ?? 0",
            "let weight = Double(value)!", "let code = UInt8(String(decoding: two, as: UTF8.self))",
            "guard isKnown,\n    let length = Int(value)\nelse { return nil }",
            "let seconds = Int(value)\nreturn seconds ?? 0", "let seconds = Int(value)\n    ?? 0",
            "let port = Int(value)\nguard let port else { return nil }", "let number: Int? = .init(line)",
            "let weight: Double? = .init(line) ?? 1", "let number = strtol(line, nil, 10)", "return atoi(line)",
        ])
    func numbersWithoutRange(_ source: String) {
        #expect(SourceRules.peerNumbers(Self.tree(source, in: "OutgoingHTTP")).count == 1)
        #expect(SourceRules.peerNumbers(Self.tree(source, in: "LoadTest")) == [])
    }

    @Test(
        "take a number with a range, and conversions of numbers",
        arguments: [
            "guard let age = Int(digits: text, in: 0...9) else { return nil }",
            "let age = Int(digits: text, atMost: 9)", "// let age = Int(text)", "let size = Int32(text.count)",
            "let time = Int64(now.milliseconds) * 1000", "let most = UInt64(clamping: words[0])",
            "let mask = UInt64(key) | UInt64(key) << 32", "case AF_INET: return UInt16(family)",
            "func print(text: String) -> Int? { nil }", "let seconds = Int(value)\nreturn seconds + 1",
            "let most: Int? = .init(exactly: size)",
        ])
    func numbersWithRange(_ source: String) {
        #expect(SourceRules.peerNumbers(Self.tree(source, in: "OutgoingHTTP")) == [])
    }

    @Test(
        "know what bounds a queue, a window, a table or a pool",
        arguments: [
            "    static let mostWaiting = 3", "    public var mostWaiting = 1000", "    static let capacity = 9",
            "    public var streamsPerConnection = 500", "    public var connections = 2",
            "    public var heldPerDevice = 16", "    init(kept: Int = 16_384) { self.kept = kept }",
            "    public static let failuresUntilBad = 3", "    static let usersToOpen = 3",
            "    static let usersUntilAllRefused = (3, 20)", "    static let acceptedTokens = 50_000",
        ])
    func bounds(_ source: String) {
        let found = SourceRules.shares(Self.tree(source, in: "PushCore"))
        #expect(found.count == 1 && found.first?.hasSuffix(" has no row of shares, and is nobody's own") == true)
    }

    @Test("take no count for a bound", arguments: ["    public var connections = 0", "    let most = found.max()"])
    func noBounds(_ source: String) { #expect(SourceRules.shares(Self.tree(source, in: "PushCore")) == []) }

    @Test(
        "count each text of bytes, however it is made",
        arguments: [
            ("String(decoding: a, as: UTF8.self)", 1), ("let a = String.init(decoding: b, as: UTF8.self)", 1),
            ("let a: String = .init(decoding: b, as: UTF8.self)", 1), ("Substring(decoding: a, as: UTF8.self)", 1),
            ("String(copying: a)", 1), ("f(String(decoding: a, as: UTF8.self), String(decoding: b, as: UTF8.self))", 2),
            ("String.init(validating: a, as: UTF8.self)", 1), (".init(cString: a)", 1),
            ("Kind(rawValue: a), StreamID(rawValue: 1)", 1), ("RawJSON.init(bytes: a)", 0), ("// .longString", 0),
        ])
    func textsOfBytes(_ source: String, _ count: Int) {
        let found = SourceRules.texts(Self.tree(source, in: "HTTP2"))
        #expect(found.count == min(count, 1))
        if count > 0 { #expect(found.first?.contains(" makes \(count) texts of bytes, 0 of them") == true) }
    }

    @Test(
        "find a delimiter that is searched by Character",
        arguments: [
            (#"let cell = text.replacing("\"", with: "\"\"")"#, 1),
            (#"text.replacingOccurrences(of: ",", with: ";")"#, 1),
            (#"guard text.contains(where: { ",'".contains($0) }) else { return text }"#, 1),
            (#"let parts = cursor.split(separator: " ", omittingEmptySubsequences: false)"#, 1),
            (#"text.components(separatedBy: mark)"#, 1), (#"text.replacingBytes("'", with: "''")"#, 0),
            (#"text.utf8.contains { ",'".utf8.contains($0) }"#, 0), (#"// text.replacing("'", with: "")"#, 0),
            (#"let words = cursor.parts(at: " ")"#, 0),
        ])
    func delimiters(_ source: String, _ count: Int) {
        let found = SourceRules.delimiters(Self.tree(source, in: "CallServer"))
        let place = "Sources/CallServer/File.swift"
        let all = ["\(place) searches 1 times by Character, 0 of them for a reason: \(place):1"]
        #expect(found == (count == 0 ? [] : all))
    }

    @Test("find a file that is read or written in another way than by PrivateFile")
    func files() {
        for code in [
            "try data.write(to: url, options: .atomic)", "try data.write(to: URL(filePath: file))",
            #"fopen(path, "w")"#, "try FileManager.default.copyItem(atPath: path, toPath: other)",
            "try FileManager.default.moveItem(atPath: path, toPath: other)", "FileHandle(forUpdatingAtPath: path)",
            "FileHandle(forWritingAtPath: path)", "openat(folder, name, O_RDWR)",
            "try text.write(toFile: path, atomically: true, encoding: .utf8)",
        ] {
            #expect(
                SourceRules.privateFiles(Self.tree(code, in: "LoadTest"))
                    == ["Sources/LoadTest/File.swift:1 writes a file without PrivateFile"])
        }
        for code in [#"fopen(path, "r")"#, "try FileManager.default.removeItem(atPath: path)"] {
            #expect(SourceRules.privateFiles(Self.tree(code, in: "LoadTest")) == [])
        }
        for code in ["FileManager.default.contents(atPath: path)", "try Data(contentsOf: URL(filePath: path))"] {
            #expect(
                SourceRules.readFiles(Self.tree(code, in: "CallServer"))
                    == ["Sources/CallServer/File.swift:1 reads a file without PrivateFile"])
        }
        #expect(
            SourceRules.privateFiles(Self.tree("open(path, O_RDWR | O_CREAT, 0o600)", in: "CallStore"))
                == ["Sources/CallStore/File.swift:1 makes a file at the end of a link"])
        #expect(SourceRules.privateFiles(Self.tree("open(path, O_RDWR | O_CREAT | O_NOFOLLOW)", in: "CallStore")) == [])
    }

    @Test("are broken by what they are for")
    func broken() {
        #expect(
            SourceRules.imports(Self.tree("import HTTP2")) == ["CallCore imports HTTP2, which is not listed for it"])
        #expect(
            SourceRules.imports(Self.tree("import HTTP2", listing: #""HTTP2", "PushCore""#))
                == ["CallCore lists PushCore and does not import it"])
        #expect(SourceRules.imports(Self.tree("@testable import HTTP2", listing: #""HTTP2""#)) == [])
        #expect(SourceRules.purity(Self.tree("import Foundation")) == ["CallCore imports Foundation"])
        #expect(
            SourceRules.phones(Self.tree("let a: Int128 = 1 // one", in: "SoftphoneSession"))
                == ["Sources/SoftphoneSession/File.swift:1 is newer than some phones"])
        #expect(SourceRules.phones(Self.tree("let a = 1 // Int128", in: "SoftphoneSession")) == [])
        #expect(
            SourceRules.simulation(Self.tree("", in: "CallServer", listing: #""PushSimulator""#))
                == ["CallServer needs PushSimulator"])
        #expect(
            SourceRules.storeKinds(Self.tree("try StoreReader.open()", in: "CallServer"))
                == ["Sources/CallServer/File.swift:1 names a kind of store"])
        #expect(
            SourceRules.receipts(Self.tree("outputs.release(CommitReceipt())", in: "CallServer"))
                == ["Sources/CallServer/File.swift:1 makes a receipt"])
        #expect(
            SourceRules.proofs(Self.tree("let a = b as! C"))
                == ["Sources/CallCore/File.swift:1 is unsafe and says not why it holds"])
        #expect(SourceRules.proofs(Self.tree("// Proof: b is a C.\nlet a = b as! C")) == [])
        #expect(
            SourceRules.texts(Self.tree("switch Kind(rawValue: text) {}", in: "HTTP2"))
                == [
                    "Sources/HTTP2/File.swift makes 1 texts of bytes, 0 of them for a reason: "
                        + "Sources/HTTP2/File.swift:1"
                ])
        #expect(SourceRules.texts(Self.tree("StreamID(rawValue: 1)", in: "HTTP2")) == [])
        let long = "    func a() {\n" + String(repeating: "        b()\n", count: 69) + "    }"
        #expect(
            SourceRules.functionLengths(Self.tree(long)) == ["Sources/CallCore/File.swift:1: a function of 71 lines"])
        #expect(
            SourceRules.names(Self.tree("public struct A {}\npublic enum A {}"))
                == ["A is in Sources/CallCore/File.swift and in Sources/CallCore/File.swift"])
        #expect(
            SourceRules.articles(Self.tree("import HTTP2", listing: #""HTTP2""#))
                == [#"Sources/CallCore/CallCore.docc/CallCore.md does not say "Imports: `HTTP2`.""#])
        #expect(
            SourceRules.namedFiles(Self.tree("", article: "See `Calls/File.swift` and `CallCore/File.swift`."))
                == ["Sources/CallCore/CallCore.docc/CallCore.md names Calls/File.swift, which does not exist"])
        #expect(
            SourceRules.namedSuites(
                Self.tree("", in: "KnownTests", article: "See `KnownTests`, `OtherTests`, `Tests`."))
                == ["Sources/KnownTests/KnownTests.docc/KnownTests.md names OtherTests, which does not exist"])
    }

    @Test("find a link that leads nowhere from its article's path")
    func links() {
        let text = "[a](B.md) [b](../C.docc/C.md#a-part) [c](../C.docc/C.md#none) [d](#own-words) [e](x:y) [f](C.md)"
        let article = SourceTree.File(path: "Sources/A/A.docc/A.md", lines: [text, "## Own words"])
        let other = SourceTree.File(path: "Sources/A/C.docc/C.md", lines: ["## A part"])
        let tree = SourceTree(
            package: PackageDescription(""), files: [], linking: [article, other],
            paths: [article.path, other.path, "Sources/A/A.docc/B.md"])
        let found = ["../C.docc/C.md#none", "C.md"].map { "\(article.path) links to \($0), which does not exist" }
        #expect(SourceRules.links(tree) == found)
    }

    @Test("are broken by samples, documents and tests")
    func brokenElsewhere() {
        let package = PackageDescription("")
        for code in [
            "if (Number(data.expires_at) <= Date.now()) {", "deadline <= DateTime.now().millisecondsSinceEpoch",
            "deadline - System.currentTimeMillis()", "push.expiresAt.date < Date()",
        ] {
            let sample = SourceTree.File(path: "Resources/clients/sample", lines: ["", code, "// \(code)"])
            #expect(
                SourceRules.clocks(SourceTree(package: package, files: [], samples: [sample]))
                    == ["Resources/clients/sample:2 reads the phone's clock"])
        }
        #expect(!SourceRules.readme(SourceTree(package: package, files: [], readmeBytes: 10_001)).isEmpty)
        let tests = PackageDescription(
            #"library("EventLoop"), tests("ATests", []), tests("BTests", ["EventLoop"]), tests("CTests", [])"#)
        #expect(
            SourceRules.passes(SourceTree(package: tests, files: [], firstPass: ["ATests", "BTests"]))
                == ["BTests has sockets or processes, and is in Tests/pure", "CTests is missing in Tests/pure"])
        let clock = SourceTree.File(path: "Tests/ATests/A.swift", lines: ["ContinuousClock().measure {}"])
        let one = PackageDescription(#"tests("ATests", [])"#)
        #expect(
            SourceRules.passes(SourceTree(package: one, files: [clock], firstPass: ["ATests"]))
                == ["Tests/ATests/A.swift reads a clock, and is in Tests/pure"])
    }
}
