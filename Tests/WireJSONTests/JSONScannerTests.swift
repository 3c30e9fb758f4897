import CallVocabulary
import Parsers
import Testing
import WireJSON

struct JSONScannerTests {
    /// Gives the value of `text` to `read` while its buffer lives.
    private func withValue<Value>(_ text: String, _ read: (JSONValue) throws -> Value) throws -> Value {
        let bytes = Array(text.utf8)
        return try bytes.withUnsafeBytes { try read(try JSONScanner.document($0)) }
    }

    private func error(_ text: String) -> JSONSyntaxError? { JSONOracle.error(of: Array(text.utf8)) }

    @Test("escapes stand for what RFC 8259 says")
    func escapes() throws {
        let text = #""\"\\\/\b\f\n\r\t\u0000\u007f\u0080\u07ff\u0800\uffff\ud800\udc00\uDBFF\uDFFFé😀""#
        let expected = "\"\\/\u{8}\u{C}\n\r\t\u{0}\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}é😀"
        #expect(try withValue(text) { $0.string } == expected)
    }

    @Test("each fault has its reason and place")
    func faults() {
        #expect(error(#"["\ud800"]"#) == JSONSyntaxError(.loneSurrogate, at: 2))
        #expect(error(#"["\udc00\ud800"]"#) == JSONSyntaxError(.loneSurrogate, at: 2))
        #expect(error(#"["\ud800\u0020"]"#) == JSONSyntaxError(.loneSurrogate, at: 2))
        #expect(error(#"["\q"]"#) == JSONSyntaxError(.malformedEscape, at: 2))
        #expect(error("[\"a\u{1F}\"]") == JSONSyntaxError(.controlCharacter, at: 3))
        #expect(error("[1.x]") == JSONSyntaxError(.malformedNumber, at: 3))
        #expect(error("[012]") == JSONSyntaxError(.malformedNumber, at: 2))
        #expect(error("[1,") == JSONSyntaxError(.unexpectedEnd, at: 3))
        #expect(error("[1}") == JSONSyntaxError(.unexpectedByte, at: 2))
        #expect(error("\u{FEFF}1") == JSONSyntaxError(.unexpectedByte, at: 0))
        #expect(error("1 1") == JSONSyntaxError(.trailingBytes, at: 2))
        #expect(error(#""\"#) == JSONSyntaxError(.unexpectedEnd, at: 2))
    }

    @Test("nesting is bounded at 64, however it is entered")
    func depth() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":["#, count: depth / 2) + String(repeating: "]}", count: depth / 2)
        }
        #expect(error(nested(64)) == nil)
        #expect(error(nested(66))?.reason == .tooDeep)
        #expect(error("[" + nested(64) + "]")?.reason == .tooDeep)
        let bytes = Array("[\(nested(64))]".utf8)
        bytes.withUnsafeBytes { buffer in
            var scanner = JSONScanner(buffer)
            #expect(throws: JSONSyntaxError.self) {
                try scanner.enterArray()
                _ = try scanner.nextElement()
                _ = try scanner.value()
            }
        }
    }

    @Test("strings are scanned right at every length and place of what ends a plain run")
    func wordBoundaries() throws {
        for length in 0..<40 {
            let plain = String(repeating: "p", count: length)
            let specials = [(#"\n"#, "\n"), ("é", "é"), (#"\""#, "\""), ("\u{7F}", "\u{7F}"), ("😀", "😀")]
            for (special, meaning) in specials {
                let value = try withValue("\"\(plain)\(special)\(plain)\"") { $0.string }
                #expect(value == plain + meaning + plain)
            }
            #expect(error("\"\(plain)\u{1F}\(plain)\"") == JSONSyntaxError(.controlCharacter, at: length + 1))
            #expect(error("\"\(plain)") == JSONSyntaxError(.unexpectedEnd, at: length + 1))
        }
    }

    @Test("UTF-8 is valid where the standard library says so, at either side of each bound")
    func utf8() {
        let continuations: [UInt8] = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        let quote = UInt8(ascii: "\"")
        var valid = 0
        for lead in UInt8(0x80)...0xFF {
            for second in continuations {
                for third in continuations {
                    for fourth: UInt8 in [0x41, 0x80, 0xBF, 0xC0] {
                        // Nine bytes behind it, so that whole words are looked at.
                        let text = [lead, second, third, fourth] + Array("behind it".utf8)
                        let isValid = String(validating: text, as: UTF8.self) != nil
                        if isValid { valid += 1 }
                        let reason = JSONOracle.error(of: [quote] + text + [quote])?.reason
                        if reason != (isValid ? nil : .invalidUTF8) { Issue.record("\(text)") }
                    }
                }
            }
        }
        #expect(valid > 1000)
    }

    @Test("whole numbers are read to the ends of their type, others are none")
    func integers() throws {
        func read<Number: FixedWidthInteger>(_ text: String, _ type: Number.Type) throws -> Number? {
            try withValue(text) { $0.integer(type) }
        }
        #expect(try read("9223372036854775807", Int64.self) == .max)
        #expect(try read("-9223372036854775808", Int64.self) == .min)
        #expect(try read("9223372036854775808", Int64.self) == nil)
        #expect(try read("-9223372036854775809", Int64.self) == nil)
        #expect(try read("18446744073709551615", UInt64.self) == .max)
        #expect(try read("18446744073709551616", UInt64.self) == nil)
        #expect(try read("99999999999999999999999999", UInt64.self) == nil)
        #expect(try read("-0", UInt64.self) == 0)
        #expect(try read("-1", UInt64.self) == nil)
        #expect(try read("1.0", Int64.self) == nil)
        #expect(try read("1e2", Int64.self) == nil)
        #expect(try read("\"1\"", Int64.self) == nil)
    }

    @Test(
        "whole numbers of any size are cut to a range, others are none",
        arguments: [
            ("5", 5), ("0", 0), ("-0", 0), ("60", 60), ("61", 60), ("9223372036854775807", 60),
            ("18446744073709551615", 60), ("99999999999999999999999999", 60), ("-1", 0), ("-9223372036854775808", 0),
            ("-99999999999999999999", 0), ("5.0", nil), ("1e400", nil), ("-1e400", nil), ("\"5\"", nil),
            ("null", nil), ("[5]", nil),
        ] as [(String, Int64?)])
    func clamping(text: String, number: Int64?) throws {
        let wide = try withValue(text) { $0.integer(clampedTo: Int64(0)...60) }
        #expect(wide == number)
        let narrow = try withValue(text) { $0.integer(clampedTo: UInt8(0)...60) }
        #expect(narrow.map { Int64($0) } == number)
    }

    @Test("members come in order with the bytes they were written in")
    func members() throws {
        let bytes = Array(#" { "a" : [ 1 ] , "b":{"c" :"d"},"a":null } "#.utf8)
        var seen: [String] = []
        try bytes.withUnsafeBytes { buffer in
            var scanner = JSONScanner(buffer)
            try scanner.enterObject()
            while let name = try scanner.nextKey() {
                let value = try scanner.value()
                seen.append("\(name.raw.json) \(value.kind) \(value.raw.json)")
            }
            try scanner.finish()
        }
        #expect(seen == [#""a" array [ 1 ]"#, #""b" object {"c" :"d"}"#, #""a" null null"#])
    }

    @Test("names are told apart without regard to how they are escaped")
    func names() throws {
        #expect(try withValue(#""call_id""#) { "call_id" ~= $0 })
        #expect(try withValue(#""call\u005fid""#) { "call_id" ~= $0 })
        #expect(try withValue(#""call_ie""#) { "call_id" ~= $0 } == false)
        #expect(try withValue(#""call_i""#) { "call_id" ~= $0 } == false)
        #expect(try withValue("1") { "1" ~= $0 } == false)
        #expect(try withValue(#""""#) { "" ~= $0 })
    }

    @Test("an identifier is read in either case and escaped, and nothing else is one")
    func identifiers() throws {
        let upper = Samples.callText.uppercased()
        #expect(try withValue("\"\(upper)\"") { $0.identifier(CallID.self) } == Samples.call)
        #expect(try withValue("\"\\u0036\(upper.dropFirst())\"") { $0.identifier(CallID.self) } == Samples.call)
        #expect(try withValue("\"{\(upper)}\"") { $0.identifier(CallID.self) } == nil)
        #expect(try withValue("7") { $0.identifier(CallID.self) } == nil)
    }
}
