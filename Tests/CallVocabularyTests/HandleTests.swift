import CallVocabulary
import Testing

@Suite struct HandleTests {
    @Test(
        "a handle's kind is read off its text",
        arguments: [
            ("alice", HandleKind.generic), ("+81312345678", .phone), ("+", .generic), ("+1a", .generic),
            ("0312345678", .generic),
            ("alice@example.org", .email), ("@example.org", .generic), ("alice@", .generic), ("+1@x", .email),
        ])
    func kind(text: String, kind: HandleKind) throws {
        #expect(try #require(Handle(text)).kind == kind)
    }

    @Test(
        "empty, too long, white space and control characters are refused",
        arguments: [
            "", String(repeating: "a", count: 129), String(repeating: "é", count: 65), "a b", " a", "a\n", "a\u{0}",
            "a\u{7F}",
            "a\u{A0}b", "a\u{2028}",
        ])
    func refused(text: String) {
        #expect(Handle(text) == nil)
    }

    @Test("no control and no format character is taken but the two joiners, and all of them were once")
    func invisible() {
        var refused = 0
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "a\(scalar)b"
            let isJoiner = value == 0x200C || value == 0x200D
            let isExcluded: Bool
            switch scalar.properties.generalCategory {
            case .control, .format: isExcluded = !isJoiner
            default: isExcluded = scalar.properties.isWhitespace
            }
            guard isExcluded || isJoiner else { continue }
            #expect((Handle(text) == nil) == isExcluded, "U+\(String(value, radix: 16))")
            let isSeparator = scalar.properties.isWhitespace || value < 0x20 || value == 0x7F
            #expect((Handle(known: text) == nil) == isSeparator, "U+\(String(value, radix: 16))")
            refused += isExcluded ? 1 : 0
        }
        // C0, C1 and DEL, and what changes the order of text, among them.
        #expect(refused > 200)
        for text in ["a\u{80}", "a\u{9F}b", "\u{202E}a", "a\u{2066}", "a\u{200E}", "a\u{200B}", "a\u{FEFF}", "a\u{AD}"]
        {
            #expect(Handle(text) == nil && Handle(known: text)?.text == text)
        }
        #expect(Handle("می\u{200C}خواهم") != nil)
        #expect(Handle("👩\u{200D}👧") != nil)
    }

    @Test("up to 128 bytes are taken")
    func longest() {
        #expect(Handle(String(repeating: "a", count: 128)) != nil)
        #expect(Handle(String(repeating: "é", count: 64)) != nil)
    }

    @Test("handles are compared byte for byte: case and composition count")
    func comparison() {
        #expect(Handle("Alice") != Handle("alice"))
        #expect(Handle("\u{E9}") != Handle("e\u{301}"))
        #expect(Set([Handle("\u{E9}"), Handle("e\u{301}")]).count == 2)
    }

    @Test("handles of all lengths are the same, and in order, as their bytes are")
    func order() {
        // All beginnings of texts that differ in the first eight bytes, in the second, behind them, and in length alone.
        let texts = [
            "abcdefgh\u{E9}jklmnopqrstuvwxyz", "abcdefgh\u{E9}jklmnQaz", "abcdefg+", "abcdefghz", "\u{E9}bcdefghi",
            "+8131234567890123",
        ]
        let beginnings = texts.flatMap { text in text.indices.map { String(text[...$0]) } }
        let handles = Set(beginnings).compactMap { Handle($0) }
        #expect(handles.count > 40)
        for a in handles {
            for b in handles {
                let bytes = (Array(a.text.utf8), Array(b.text.utf8))
                #expect((a == b) == (bytes.0 == bytes.1), "\(a) \(b)")
                #expect((a < b) == bytes.0.lexicographicallyPrecedes(bytes.1), "\(a) \(b)")
            }
        }
    }
}
