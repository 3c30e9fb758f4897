import TerminalScreen
import Testing

@Suite("Keys")
struct KeyDecoderTests {
    private static let sequences: [(String, [Key])] = [
        ("a", [.character("a")]), ("é", [.character("é")]), ("漢", [.character("漢")]), ("😀", [.character("😀")]),
        ("\u{3}", [.control("c")]), ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]), ("\u{7F}", [.backspace]),
        ("\u{8}", [.backspace]), ("\u{1B}[A", [.up]), ("\u{1B}[B", [.down]), ("\u{1B}[C", [.right]),
        ("\u{1B}[D", [.left]), ("\u{1B}OA", [.up]), ("\u{1B}OB", [.down]), ("\u{1B}OH", [.home]),
        ("\u{1B}OF", [.end]), ("\u{1B}[H", [.home]), ("\u{1B}[F", [.end]), ("\u{1B}[1~", [.home]),
        ("\u{1B}[7~", [.home]), ("\u{1B}[4~", [.end]), ("\u{1B}[8~", [.end]), ("\u{1B}[5~", [.pageUp]),
        ("\u{1B}[6~", [.pageDown]), ("\u{1B}[3~", [.delete]), ("\u{1B}[1;5A", [.up]), ("\u{1B}[5;2~", [.pageUp]),
        ("\u{1B}[[A", []), ("\u{1B}[15~", []), ("\u{1B}[?62c", []), ("\u{1B}OP", []),
        ("\u{1B}q", [.escape, .character("q")]), ("\u{1B}\u{1B}[A", [.escape, .up]),
    ]

    @Test("are the same wherever the bytes are split", arguments: sequences)
    func splits(bytes: String, keys: [Key]) {
        let bytes = Array(bytes.utf8)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                var decoder = KeyDecoder()
                let seen =
                    decoder.take(bytes[..<first]) + decoder.take(bytes[first..<second]) + decoder.take(bytes[second...])
                #expect(seen == keys, "split at \(first) and \(second)")
                #expect(!decoder.isWaiting)
            }
        }
    }

    @Test("follow each other without a gap")
    func stream() {
        var decoder = KeyDecoder()
        let seen = decoder.take(Self.sequences.map(\.0).joined().utf8)
        #expect(seen == Self.sequences.flatMap(\.1))
    }

    @Test("Esc alone is told by the time that passes")
    func escapeAlone() {
        var decoder = KeyDecoder()
        #expect(decoder.take([0x1B]) == [])
        #expect(decoder.isWaiting)
        #expect(decoder.timedOut() == [.escape])
        #expect(!decoder.isWaiting)
        #expect(decoder.take("[A".utf8) == [.character("["), .character("A")])
        #expect(decoder.timedOut() == [])
    }

    @Test("what is cut short is what was typed")
    func cutShort() {
        var decoder = KeyDecoder()
        #expect(decoder.take("\u{1B}[1".utf8) == [])
        #expect(decoder.timedOut() == [.escape, .character("["), .character("1")])
        #expect(decoder.take("\u{1B}O".utf8) == [])
        #expect(decoder.timedOut() == [.escape, .character("O")])
        #expect(decoder.take([0xE6, 0xBC]) == [])
        #expect(decoder.timedOut() == [])
        #expect(!decoder.isWaiting)
    }

    @Test("bytes that are no text and no key are left out, and what follows is read")
    func garbage() {
        var decoder = KeyDecoder()
        #expect(decoder.take([0xFF, 0xC0, 0x80, 0x61]) == [.character("a")])
        #expect(decoder.take([0xE6, 0x61]) == [.character("a")])
        #expect(decoder.take([0xED, 0xA0, 0x80, 0x62]) == [.character("b")])
        var keys: [Key] = []
        for _ in 0..<5 { keys += decoder.take("\u{1B}[".utf8) + decoder.take(Array(repeating: 0x31, count: 100)) }
        #expect(!keys.contains(.up))
        keys = decoder.take("\u{1B}[A".utf8)
        #expect(keys == [.up])
    }
}
