import CallVocabulary
import Testing

@Suite("A number in the text of others")
struct PeerNumberTests {
    @Test(
        "is digits within a range, and nothing else",
        arguments: [
            ("0", 0), ("5", 5), ("86400", 86_400), ("0007", 7), ("00000000000000000000000007", 7), ("86401", nil),
            ("", nil), ("-1", nil), ("-0", nil), ("+5", nil), (" 5", nil), ("5 ", nil), ("5 5", nil), ("5\n", nil),
            ("5\0", nil), ("1_000", nil), ("1,000", nil), ("1.5", nil), ("1e3", nil), ("1e400", nil), ("0x5", nil),
            ("ff", nil), ("nan", nil), ("inf", nil), ("٥", nil), ("５", nil), ("-9223372036854775808", nil),
            ("9223372036854775807", nil), ("9223372036854775808", nil), ("18446744073709551615", nil),
            ("99999999999999999999", nil),
        ] as [(String, Int?)])
    func range(_ text: String, _ number: Int?) {
        #expect(Int(digits: text, in: 0...86_400) == number)
        #expect(Int(digits: Array(text.utf8), in: 0...86_400) == number)
        #expect(Int64(digits: Substring(text), in: 0...86_400) == number.map { Int64($0) })
        #expect(UInt32(digits: text, in: 0...86_400) == number.map { UInt32($0) })
    }

    @Test("may be as large as its type, and one more is nil")
    func ends() {
        #expect(Int64(digits: "9223372036854775807", in: 0...Int64.max) == .max)
        #expect(Int64(digits: "9223372036854775808", in: Int64.min...Int64.max) == nil)
        #expect(UInt64(digits: "18446744073709551615", in: 0...UInt64.max) == .max)
        #expect(UInt64(digits: "18446744073709551616", in: 0...UInt64.max) == nil)
        #expect(UInt8(digits: "255", in: 0...UInt8.max) == 255)
        #expect(UInt8(digits: "256", in: 0...UInt8.max) == nil)
        #expect(UInt16(digits: "0", in: 1...UInt16.max) == nil)
        #expect(UInt16(digits: "65536", in: 1...UInt16.max) == nil)
        #expect(Int8(digits: "127", in: 0...Int8.max) == 127)
        #expect(Int8(digits: "128", in: 0...Int8.max) == nil)
    }

    @Test(
        "may be hexadecimal, in either case",
        arguments: [
            ("0", 0), ("ff", 255), ("FF", 255), ("00fF", 255), ("100", nil), ("g", nil), ("+5", nil), ("-5", nil),
            ("0x5", nil), ("", nil), ("f f", nil), ("Ａ", nil),
        ] as [(String, UInt8?)])
    func hexadecimal(_ text: String, _ number: UInt8?) {
        #expect(UInt8(digits: text, radix: 16, in: 0...UInt8.max) == number)
    }

    @Test(
        "is cut to a limit, however many digits it has",
        arguments: [
            ("0", 0), ("59", 59), ("60", 60), ("61", 60), ("9223372036854775807", 60), ("18446744073709551616", 60),
            ("99999999999999999999999999999999", 60), ("", nil), ("-1", nil), ("+5", nil), (" 5", nil), ("5 5", nil),
            ("99999999999999999999x", nil), ("1e400", nil), ("-9223372036854775808", nil),
        ] as [(String, Int?)])
    func limit(_ text: String, _ number: Int?) {
        #expect(Int(digits: text, atMost: 60) == number)
        #expect(Int64(digits: text.utf8, atMost: 60) == number.map { Int64($0) })
        #expect(UInt8(digits: text, atMost: 60) == number.map { UInt8($0) })
    }
}
