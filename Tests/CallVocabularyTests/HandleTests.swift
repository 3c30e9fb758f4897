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
