import CallVocabulary
import Foundation
import Testing
import WireJSON

struct JSONWriterTests {
    private func text(_ write: (inout JSONWriter) -> Void) -> String {
        String(decoding: JSONWriter.bytes(write), as: UTF8.self)
    }

    @Test("commas stand between members and elements, and nowhere else")
    func commas() {
        let written = text { json in
            json.object { json in
                json.field("empty") { $0.object { _ in } }
                json.field("left_out", nil as String?)
                json.field("list") { json in
                    json.array { json in
                        json.array { _ in }
                        json.integer(-1)
                        json.bool(false)
                        json.null()
                        json.raw(RawJSON(bytes: Array("1.50".utf8)))
                        json.object { $0.field("n", UInt64.max) }
                    }
                }
                json.field("smallest", Int64.min)
                json.key("ke\"y")
                json.string("v")
                json.field("id", Samples.call)
                json.field("last", true)
            }
        }
        #expect(
            written == #"{"empty":{},"list":[[],-1,false,null,1.50,{"n":18446744073709551615}],"#
                + #""smallest":-9223372036854775808,"ke\"y":"v","id":"\#(Samples.callText)","last":true}"#)
    }

    @Test("every character survives, at every place in a word")
    func escaping() throws {
        let scalars = (0..<0x100).compactMap { Unicode.Scalar($0) } + ["\u{2028}", "\u{FFFF}", "😀"]
        for scalar in scalars {
            for length in 0..<9 {
                let plain = String(repeating: "é", count: length / 2) + String(repeating: "p", count: length)
                let string = plain + String(Character(scalar)) + plain
                let bytes = JSONWriter.bytes { $0.string(string) }
                let read = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
                #expect(read as? String == string)
            }
        }
        #expect(text { $0.string("\"\\\n\r\t\u{0}\u{1F}/é") } == #""\"\\\n\r\t\u0000\u001f/é""#)
        #expect(text { $0.string("") } == #""""#)
    }

    @Test("what is written goes behind what is there")
    func appends() {
        var buffer: [UInt8] = Array("[".utf8)
        JSONWriter.append(to: &buffer) { json in
            #expect(json.count == 1)
            json.integer(0)
            #expect(json.count == 2)
        }
        JSONWriter.append(to: &buffer) { $0.string("x") }
        #expect(String(decoding: buffer, as: UTF8.self) == #"[0"x""#)
    }
}
