import TerminalScreen
import Testing

@Suite("Text on the screen")
struct VisibleTextTests {
    @Test(
        "has the width that terminals give it",
        arguments: [
            ("alice", 5), ("漢字", 4), ("한국", 4), ("e\u{301}", 1), ("é", 1), ("ﾊﾝ", 2), ("ＡＢ", 4), ("😀", 2), ("€", 1),
            ("", 0), ("日本@example", 12),
        ])
    func width(text: String, width: Int) {
        #expect(VisibleText.width(of: text) == width)
    }

    @Test(
        "cannot move the cursor, turn the writing or hide",
        arguments: [
            ("a\u{1B}[2Jb", "a\\u{1B}[2Jb"), ("a\u{202E}b", "a\\u{202E}b"), ("\u{2066}x", "\\u{2066}x"),
            ("a\u{200B}b", "a\\u{200B}b"), ("a\u{200D}b", "a\\u{200D}b"), ("a\nb", "a\\u{A}b"),
            ("a\u{85}b", "a\\u{85}b"), ("a\u{7F}", "a\\u{7F}"), ("\u{3164}", "\\u{3164}"), ("\u{E000}", "\\u{E000}"),
            ("\u{301}x", "\\u{301}x"), ("\u{2028}", "\\u{2028}"),
        ])
    func escaped(text: String, shown: String) {
        #expect(String(VisibleText.glyphs(of: text).map(\.character)) == shown)
        var buffer = ScreenBuffer(width: 40, height: 1)
        buffer.put(text, row: 0, column: 0)
        #expect(buffer.text(row: 0) == shown)
    }

    @Test("piles no more than three marks on a letter")
    func marks() {
        let glyphs = VisibleText.glyphs(of: "a" + String(repeating: "\u{301}", count: 50) + "b")
        #expect(glyphs.count == 2)
        #expect(glyphs[0].character.unicodeScalars.count == 4)
        #expect(glyphs[1].character == "b")
    }

    @Test("is spelt out where the terminal has ASCII only")
    func ascii() {
        #expect(String(VisibleText.glyphs(of: "né漢", isUnicode: false).map(\.character)) == "n\\u{E9}\\u{6F22}")
        var buffer = ScreenBuffer(width: 4, height: 1, isUnicode: false)
        buffer.put("alice", row: 0, column: 0)
        #expect(buffer.text(row: 0) == "ali~")
    }

    @Test("that is too long says so, and a wide character is never cut in two")
    func cut() {
        var buffer = ScreenBuffer(width: 10, height: 2)
        #expect(buffer.put("alice@example", row: 0, column: 0, limit: 6) == 6)
        #expect(buffer.text(row: 0) == "alice…")
        #expect(buffer.put("漢字漢字", row: 1, column: 0, limit: 6) == 6)
        #expect(buffer.text(row: 1) == "漢字 …" || buffer.text(row: 1) == "漢字…")
        #expect(buffer.put("x", row: 1, column: 12) == 12)
        #expect(buffer.put("x", row: 5, column: 0) == 0)
    }

    @Test("that overwrites half of a wide character leaves no other half")
    func overwritten() {
        var buffer = ScreenBuffer(width: 6, height: 1)
        buffer.put("漢字", row: 0, column: 0)
        buffer.put("x", row: 0, column: 1)
        #expect(buffer.text(row: 0) == " x字")
        buffer.put("y", row: 0, column: 2)
        #expect(buffer.text(row: 0) == " xy")
        #expect(!buffer.cells.contains { $0.isContinuation })
    }
}
