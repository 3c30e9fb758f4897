import CallVocabulary
import Testing

@Suite struct DisplayNameTests {
    /// Texts that show nothing on a screen. Others use them too.
    private static let blanks = [
        "", " ", "\t", "   \n", "\u{A0}", "\u{2007}\u{3000}", "\u{200B}", "\u{200D}\u{200C}", "\u{FEFF}", "\u{AD}",
        "\u{2060}\u{2063}", "\u{200E}\u{2067}\u{2069}", "\u{202E} \u{202C}", "\u{180E}", "\u{3164}", "\u{115F}\u{1160}",
        "\u{FFA0}", "\u{34F}", "\u{FE0F}", "\u{E0020}\u{E007F}", "\u{2800}", "\u{85}\u{2028}", "\u{13441}\u{13442}",
        "\u{16FE4}", "\u{1D159}", "\u{301}", "\u{338}\u{20DD}", "\u{903} \u{93E}", "\u{A0}\u{489}",
    ]

    @Test("a name that shows nothing is none", arguments: blanks)
    func blank(text: String) {
        #expect(DisplayName(text) == nil)
    }

    @Test(
        "a directional isolate that is not closed goes, and reaches over no words behind the name",
        arguments: [
            ("a\u{2067}b", "ab"), ("a\u{2066}\u{2067}b\u{2069}", "ab"), ("a\u{2069}\u{2068}b", "ab"),
            ("\u{2066}\u{2068}b\u{2069}", "b"), ("\u{2067}b", "b"), ("\u{2069}b\u{2067}", "b"),
            ("a\u{2067}\u{5D1}\u{2069}", "a\u{2067}\u{5D1}\u{2069}"),
        ])
    func isolates(text: String, shown: String) {
        #expect(DisplayName(text)?.text == shown)
        #expect(DisplayName(shown)?.text == shown)
    }

    @Test("isolates around a name stay, and those within it do")
    func wrappedNames() {
        let name = "\u{2067}\u{5D1}\u{2069}"
        for text in [name, "\u{2068}\(name)\u{2069}", "\(name) \u{2066}N\u{2069}", "\(name) N", "\u{2066}N\u{2069}"] {
            #expect(DisplayName(text)?.text == text)
            for blank in Self.blanks { #expect(DisplayName(blank + text)?.text == text) }
        }
        #expect(DisplayName("\u{2068} \(name)\u{2069}")?.text == "\u{2068}\(name)\u{2069}")
        // They do not push the name out of the limit.
        let many = String(repeating: "\u{2068}", count: 300) + "N" + String(repeating: "\u{2069}", count: 300)
        #expect(DisplayName(many)?.text == "N")
        let long = String(repeating: "N", count: 300)
        #expect(DisplayName("\u{2068}\(long)\u{2069}", upTo: 10)?.text == String(long.prefix(10)))
    }

    @Test("no white space, control, format or combining character is a name by itself")
    func categories() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isBlank: Bool
            switch scalar.properties.generalCategory {
            case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: isBlank = true
            case .nonspacingMark, .enclosingMark, .spacingMark: isBlank = true
            default: isBlank = scalar.properties.isWhitespace
            }
            guard isBlank else { continue }
            #expect(DisplayName(" \(scalar)") == nil, "U+\(String(value, radix: 16))")
        }
    }

    @Test(
        "blanks within a name stay, and beside them one visible character is enough",
        arguments: ["Zoë Z.", ".", "\u{5D1}\u{200F}", "👩\u{200D}👧", "می\u{200C}خواهم", "❤\u{FE0F}", "山\u{3000}川"])
    func visible(text: String) {
        #expect(DisplayName(text)?.text == text)
        // What is shortened to its first bytes still shows something.
        for blank in Self.blanks {
            #expect(DisplayName(String(repeating: blank, count: 300) + text)?.text == text)
        }
    }

    @Test("a long name is cut to whole scalars within the limit, and stays a name")
    func long() throws {
        for unit in ["x", "\u{E9}", "\u{9234}", "\u{1F600}", "a\u{301}"] {
            let long = String(repeating: unit, count: 5000)
            for (name, limit) in [(DisplayName(long), FrameLimits.name), (DisplayName(long, upTo: 10), 10)] {
                let text = try #require(name?.text)
                #expect((limit - 3...limit).contains(text.utf8.count) && long.utf8.starts(with: text.utf8), "\(text)")
                #expect(DisplayName(text)?.text == text)
            }
        }
        // The end of an isolate is cut off, so its beginning goes too.
        #expect(DisplayName("a\u{2067}" + String(repeating: "b", count: 300) + "\u{2069}", upTo: 5)?.text == "ab")
    }
}
