import CallVocabulary
import Testing

@Suite struct IdentifierTests {
    @Test("the 36-character form is read in either case and written in lower case")
    func text() throws {
        let text = "01234567-89ab-4def-8123-456789abcdef"
        let id = try #require(CallID(text))
        #expect(id.high == 0x0123_4567_89AB_4DEF && id.low == 0x8123_4567_89AB_CDEF)
        #expect(id.description == text)
        #expect(CallID(text.uppercased()) == id)
        #expect(CallID(Substring("x" + text).dropFirst()) == id)
    }

    @Test(
        "anything else is refused",
        arguments: [
            "", "0", "0123456789ab4def8123456789abcdef", "01234567-89ab-4def-8123-456789abcde",
            "01234567-89ab-4def-8123-456789abcdef0", "0123456-789ab-4def-8123-456789abcdef",
            "g1234567-89ab-4def-8123-456789abcdef",
            "01234567-89ab-4def-8123-456789abcde ", "{1234567-89ab-4def-8123-456789abcde}",
            "01234567-89ab-4def-8123-456789abcdé",
            "01234567_89ab_4def_8123_456789abcdef", "01234567-89ab-4def-8123-456789abcd:f",
            "01234567-89ab-4def-8123-456789abcd/f",
            "01234567-89ab-4def-8123-456789abcd@f", "01234567-89ab-4def-8123-456789abcd`f",
        ])
    func refused(text: String) {
        #expect(CallID(text) == nil)
    }

    @Test("each of its 32 places takes the hexadecimal digits and nothing else")
    func digits() throws {
        let places = Array("01234567-89ab-4def-8123-456789abcdef".utf8)
        for place in places.indices {
            for byte in UInt8.min...UInt8.max {
                var text = places
                text[place] = byte
                let id = text.withUnsafeBytes { CallID(utf8: $0) }
                let digit =
                    Character(Unicode.Scalar(byte)).isASCII ? Character(Unicode.Scalar(byte)).hexDigitValue : nil
                let isGood = places[place] == UInt8(ascii: "-") ? byte == UInt8(ascii: "-") : digit != nil
                try #require((id != nil) == isGood, "byte \(byte) at \(place)")
                guard let id else { continue }
                try #require(id.description == String(decoding: text, as: UTF8.self).lowercased())
            }
        }
    }

    @Test("a random identifier is a version 4 UUID, and goes through text and bytes unchanged")
    func random() {
        var seen: Set<PushID> = []
        for _ in 0..<1_000 {
            let id = PushID.random()
            #expect(seen.insert(id).inserted)
            let text = Array(id.description)
            #expect(text[14] == "4" && "89ab".contains(text[19]))
            #expect(PushID(id.description) == id)
            #expect(PushID(bytes: id.bytes) == id)
        }
    }

    @Test("an identifier of a time is a version 7 UUID: it begins with the time, and sorts by it")
    func time() {
        var generator = SystemRandomNumberGenerator()
        // The example of RFC 9562, A.6.
        let time = Instant(milliseconds: 0x017F_22E2_79B0)
        var seen: Set<PushID> = []
        for _ in 0..<1_000 {
            let id = PushID(at: time, random: &generator)
            #expect(seen.insert(id).inserted)
            let text = Array(id.description)
            #expect(String(text[..<15]) == "017f22e2-79b0-7" && "89ab".contains(text[19]))
            #expect(id < PushID(at: Instant(milliseconds: time.milliseconds + 1), random: &generator))
        }
    }

    @Test("bytes are in network order, and there are sixteen of them")
    func bytes() {
        let id = CallID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_0E0F)
        #expect(id.bytes == Array(0..<16))
        #expect(CallID(bytes: Array(0..<16)) == id)
        #expect(CallID(bytes: Array(0..<15)) == nil)
        #expect(CallID(bytes: Array(0..<17)) == nil)
    }

    @Test("the order of identifiers is that of their text")
    func order() {
        let ids = (0..<200).map { _ in CallID.random() }
        #expect(ids.sorted().map(\.description) == ids.map(\.description).sorted())
    }
}
