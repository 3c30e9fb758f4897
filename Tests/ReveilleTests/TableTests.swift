import Testing

@testable import reveille

@Suite("Tables and text on a terminal")
struct TableTests {
    private static let id = "0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e"

    private static func table(_ name: String = "bob") -> Table {
        var table = Table([
            Table.Column("ID", isID: true), Table.Column("NAME"), Table.Column("COUNT", isRight: true),
            Table.Column("NOTE", sacrifice: 1, least: 6), Table.Column("AGO", sacrifice: 2),
        ])
        table.add([id, name, "7", "a long remark", "12 s"])
        return table
    }

    @Test("with room for everything nothing is cut, and no line ends with space")
    func wide() {
        let lines = Self.table().lines(width: nil)
        #expect(
            lines == [
                "ID                                    NAME  COUNT  NOTE           AGO",
                "\(Self.id)  bob       7  a long remark  12 s",
            ])
        #expect(Self.table().lines(width: 71) == lines)
    }

    @Test("one long text makes its own line longer, and not all the others")
    func longText() {
        var table = Self.table()
        let long = String(repeating: "x", count: 20_000)
        table.add([Self.id, long, "8", "b", "13 s"])
        let lines = table.lines(width: nil)
        let space = String(repeating: " ", count: Table.widest - 3 + 6)
        #expect(lines[1] == "\(Self.id)  bob\(space)7  a long remark  12 s")
        #expect(lines[2] == "\(Self.id)  \(long)      8  b              13 s")
        for line in table.lines(width: 80) { #expect(line.columns <= 80) }
    }

    @Test("where room is short ids are cut first, then what matters least is shortened, and left out at last")
    func narrow() {
        #expect(Self.table().lines(width: 45)[1] == "0b9c8e4e  bob       7  a long remark  12 s")
        #expect(Self.table().lines(width: 40)[1] == "0b9c8e4e  bob       7  a long remark")
        #expect(Self.table().lines(width: 34)[1] == "0b9c8e4e  bob       7  a long rem…")
        #expect(Self.table().lines(width: 25)[1] == "0b9c8e4e  bob       7")
        // What is never left out is all there, however narrow it is.
        #expect(Self.table().lines(width: 5)[1] == "0b9c8e4e  bob       7")
    }

    @Test("no line is wider than its terminal, whatever the names are", arguments: 25...130)
    func fits(width: Int) {
        for name in ["bob", "鈴木一郎鈴木一郎", "👩‍👩‍👧‍👦 family", "e\u{301}le\u{300}ve-au-nom-tres-long", "a\u{202E}b\u{1B}[31m"] {
            for line in Self.table(name).lines(width: width) { #expect(line.columns <= width, "\(line)") }
        }
    }

    @Test(
        "text takes as many columns as a terminal gives it",
        arguments: [
            ("", 0), ("bob", 3), ("鈴木", 4), ("ｂ", 2), ("e\u{301}", 1), ("👩‍👩‍👧‍👦", 2), ("☎️", 2), ("☎", 1), ("한글", 4),
            ("→…—", 3), ("\u{200D}", 0), ("🇯🇵", 2),
        ])
    func columns(text: String, expected: Int) {
        #expect(text.columns == expected)
    }

    @Test("a text is shortened between characters, never within one")
    func shortened() {
        #expect("abcdef".shortened(to: 6) == "abcdef")
        #expect("abcdef".shortened(to: 5) == "abcd…")
        #expect("鈴木一郎".shortened(to: 6) == "鈴木…")
        #expect("e\u{301}e\u{301}e\u{301}".shortened(to: 2) == "e\u{301}…")
        #expect("abc".shortened(to: 1) == "…")
        #expect("abc".shortened(to: 0) == "")
    }

    @Test("a name cannot move the cursor, colour what follows, turn the line around or hide")
    func harmless() {
        #expect("a\u{1B}[2Jb".shown == "a\\u{1B}[2Jb")
        #expect("a\u{9B}31mb".shown == "a\\u{9B}31mb")
        #expect("x\u{202E}gpj.exe".shown == "x\\u{202E}gpj.exe")
        #expect("a\u{2066}b\u{200B}c\u{FEFF}".shown == "a\\u{2066}b\\u{200B}c\\u{FEFF}")
        #expect("line\nbreak\u{2028}".shown == "line\\u{A}break\\u{2028}")
        #expect("👩‍👧 نمی\u{200C}خواهم".shown == "👩‍👧 نمی\u{200C}خواهم")
    }

    @Test("sentences are broken between words, and points of a list stand in")
    func wrapped() {
        #expect("one two three".wrapped(to: 8) == ["one two", "three"])
        #expect("- one two three".wrapped(to: 9) == ["- one two", "  three"])
        #expect("one two".wrapped(to: nil) == ["one two"])
        #expect("it took 45 s.".wrapped(to: 11) == ["it took", "45 s."])
        #expect("unbreakable".wrapped(to: 4) == ["unbreakable"])
    }
}
