import TerminalScreen
import Testing

@Suite("Frames")
struct FrameWriterTests {
    private static let words = [
        "alice", "bob", "漢字", "é", "e\u{301}", "ended", "…", "▁▂▃", "a漢b", "  ", "x", "+15550100", "\u{202E}evil",
    ]
    private static let styles = [
        Style.plain, .bold, .dim, .reversed, Style(.red), Style(.green, bold: true), Style(.cyan, dim: true),
    ]

    @Test(
        "what is written turns one picture into the next, over hundreds of random ones",
        arguments: [(40, 10), (80, 24), (7, 3)])
    func replay(width: Int, height: Int) {
        var random = SystemSeed(state: UInt64(width * 1000 + height))
        var terminal = TerminalModel(width: width, height: height)
        var shown: ScreenBuffer?
        var picture = ScreenBuffer(width: width, height: height)
        for frame in 0..<300 {
            if Int.random(in: 0..<10, using: &random) == 0 { picture = ScreenBuffer(width: width, height: height) }
            for _ in 0..<Int.random(in: 0..<6, using: &random) {
                let style = Self.styles.randomElement(using: &random)!
                let row = Int.random(in: 0..<height, using: &random)
                if Int.random(in: 0..<8, using: &random) == 0 { picture.paint(row: row, style: style) }
                picture.put(
                    Self.words.randomElement(using: &random)!, row: row,
                    column: Int.random(in: 0..<width, using: &random),
                    limit: Int.random(in: 1...12, using: &random), style: style)
            }
            terminal.take(FrameWriter.bytes(from: shown, to: picture, hasColour: true))
            #expect(terminal.faults.isEmpty)
            #expect(terminal.cells == picture.cells, "frame \(frame)")
            shown = picture
        }
    }

    @Test("nothing is written when nothing has changed")
    func unchanged() {
        var picture = ScreenBuffer(width: 80, height: 24)
        picture.put("alice", row: 3, column: 10, style: .bold)
        #expect(FrameWriter.bytes(from: picture, to: picture, hasColour: true).isEmpty)
    }

    @Test("one changed cell costs a few bytes, and the end of a row is cleared at one go")
    func small() {
        var old = ScreenBuffer(width: 80, height: 24)
        for row in 0..<24 { old.put(String(repeating: "x", count: 80), row: row, column: 0) }
        var new = old
        new.put("y", row: 12, column: 40)
        #expect(
            FrameWriter.bytes(from: old, to: new, hasColour: true) == Array("\u{1B}[13;41H\u{1B}[0my\u{1B}[0m".utf8)
                || FrameWriter.bytes(from: old, to: new, hasColour: true).count <= 16)
        let blank = ScreenBuffer(width: 80, height: 24)
        #expect(FrameWriter.bytes(from: old, to: blank, hasColour: true).count < 24 * 14)
    }

    @Test("without colour there is none, and bold stays")
    func noColour() {
        var picture = ScreenBuffer(width: 20, height: 2)
        picture.put("red", row: 0, column: 0, style: Style(.red, bold: true))
        let text = String(decoding: FrameWriter.bytes(from: nil, to: picture, hasColour: false), as: UTF8.self)
        #expect(!text.contains("31"))
        #expect(text.contains("[0;1mred"))
    }
}

/// The same numbers each time (SplitMix64).
struct SystemSeed: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
