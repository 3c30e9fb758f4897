import CallVocabulary
import Testing

@Suite("Delimiters in the text of others")
struct ForeignTextTests {
    @Test(
        "they are found, whatever character they are a part of",
        arguments: [("", "\u{301}"), ("", "\u{200D}b"), ("a", "\u{20DD}"), ("\u{D4E}", ""), ("a", "b"), ("", "")])
    func found(before: String, after: String) {
        let text = before + "|" + after
        let replaced = Array(text.replacingBytes("|", with: "//").utf8)
        #expect(replaced == Array(before.utf8) + Array("//".utf8) + Array(after.utf8))
        #expect(text.parts(at: "|").map { Array($0.utf8) } == [Array(before.utf8), Array(after.utf8)])
    }

    @Test("other text stays")
    func rest() {
        #expect("a\u{301}b".replacingBytes("a", with: "") == "\u{301}b")
        #expect(",a,".parts(at: ",") == ["", "a", ""] && "".parts(at: ",") == [""])
    }
}
