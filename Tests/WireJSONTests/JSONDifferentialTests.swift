import ByteMutation
import Determinism
import Foundation
import Parsers
import Testing

/// The scanner against `JSONSerialization`. Where they differ on purpose is encoded in ``JSONOracle``.
struct JSONDifferentialTests {
    static let wellFormed: [String] = [
        #"{"jsonrpc":"2.0","id":1,"method":"call.get","params":{"call_id":"6ba7b810-9dad-41d1-80b4-00c04fd430c8"}}"#,
        #"{"a":[1,-0,0.5,-1.25e3,1E+2,2e-2],"b":[true,false,null],"c":{}}"#,
        #"[[],[[]],{"x":{"y":[{"z":[]}]}}]"#,
        #"["\"\\\/\b\f\n\r\t","\u0041\u00e9\u20ac\ud83d\ude00","äöü€😀\#u{2028}"]"#,
        " \t\r\n{ \"k\" : [ 1 , 2 ] , \"l\" : \"m\" } \n",
        #"{"sdp":"v=0\r\no=- 46117317 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n","custom":{"n":[9007199254740993]}}"#,
        "0", "-12", "3.25", "true", "null", #""""#, #""plain""#, "[]", "{}", #"[""]"#, #"{"":0}"#,
    ]

    static let malformed: [String] = [
        "", " ", "{", "[", "]", "}", "[1,]", "[,1]", "{,}", #"{"a":1,}"#, #"{"a"}"#, #"{"a":}"#, "{a:1}", "{1:2}",
        "[1 2]",
        "01", "-", "-01", "1.", ".5", "1e", "1e+", "+1", "0x10", "1x", "NaN", "Infinity", "tru", "True", "nul", "nullx",
        #"""#, #""a"#, #""\"#, #""\x41""#, #""\u12""#, #""\u12G4""#, "'a'", "[1]]", "{}{}", "1 2", "// c\n1", "[1]/**/",
        "\"\u{01}\"", "\"a\nb\"", "\"a\tb\"", #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, #""\ud800x""#,
        #"{"a":1 "b":2}"#,
    ]

    @Test("well-formed JSON is taken, and read as JSONSerialization reads it", arguments: wellFormed)
    func takesWellFormed(text: String) {
        let bytes = Array(text.utf8)
        #expect(JSONOracle.error(of: bytes) == nil)
        #expect(JSONOracle.disagreement(on: bytes) == nil)
    }

    @Test("malformed JSON is refused, as by JSONSerialization", arguments: malformed)
    func refusesMalformed(text: String) {
        let bytes = Array(text.utf8)
        #expect(JSONOracle.error(of: bytes) != nil)
        #expect(JSONOracle.disagreement(on: bytes) == nil)
    }

    @Test("20,000 mutations of the corpus are taken and refused as JSONSerialization does")
    func mutationsAgree() {
        let seed: UInt64 = 0x5EED_0001
        var generator = SeededGenerator(seed: seed)
        // Most mutations break what they touch, so they start from well-formed texts three times out of four.
        let corpus = [Self.wellFormed, Self.wellFormed, Self.wellFormed, Self.malformed].map { texts in
            texts.map { Array($0.utf8) }
        }
        var accepted = 0
        for number in 0..<20_000 {
            let texts = corpus[Int.random(in: 0..<corpus.count, using: &generator)]
            let bytes = Mutation.mutate(texts, using: &generator)
            if JSONOracle.accepts(bytes) { accepted += 1 }
            if let disagreement = JSONOracle.disagreement(on: bytes) {
                Issue.record("seed \(seed), case \(number): \(disagreement)")
                return
            }
        }
        // Neither side of the comparison may run dry.
        #expect((1000...19_000).contains(accepted))
    }
}
