import CallVocabulary
import Testing

@Suite("Parts of ids")
struct IDPartTests {
    private typealias Part = IDPart<PushSubject>

    private static let id = PushID("01a20fd5-b1c2-7d3e-8f40-5a6b7c8d9e0f")!

    @Test(
        "a beginning and an end name the id, in either case, with dashes or without",
        arguments: [
            "01a2", "01A20FD5", "01a20fd5-b1", "01a20fd5b1c27d3e", "9e0f", "5a6b7c8d9e0f", "8f40-5A6B7C8D9E0F",
            "d9e0f", "01a20fd5-b1c2-7d3e-8f40-5a6b7c8d9e0f", "01a20fd5b1c27d3e8f405a6b7c8d9e0f",
        ])
    func names(text: String) throws {
        #expect(try #require(Part(text)).names(Self.id))
    }

    @Test(
        "what stands in the middle, or nowhere, names nothing", arguments: ["b1c2", "7d3e", "8d9e", "0000", "1a20fd5"])
    func others(text: String) throws {
        #expect(try #require(Part(text)).names(Self.id) == false)
    }

    @Test(
        "what is too short, too long or not hexadecimal is no part",
        arguments: ["", "-", "01a", "0-1-a", "xyzw", "٠١٢٣"])
    func refused(text: String) {
        #expect(Part(text) == nil)
        #expect(Part(String(repeating: "a", count: 33)) == nil)
    }

    @Test("only the whole id is exact")
    func exact() {
        #expect(Part(Self.id.description)?.exact == Self.id)
        #expect(Part(String(Self.id.description.dropLast()))?.exact == nil)
    }
}

@Suite("Short ids")
struct ShortIDTests {
    private static func minute(of count: Int) -> [PushID] {
        var generator = SystemRandomNumberGenerator()
        let begin = Instant(milliseconds: 1_789_689_600_000)
        return (0..<count).map { PushID(at: begin + .milliseconds(Int64($0)), random: &generator) }
    }

    @Test("ids of one minute are told apart by their random end; each short form names its own id alone")
    func ofOneMinute() throws {
        let ids = Self.minute(of: 1000)
        let short = ShortIDs(ids)
        #expect(Set(ids.map { short[$0] }).count == ids.count)
        for id in ids {
            let part = try #require(IDPart<PushSubject>(short[id]))
            #expect(ids.filter { part.names($0) } == [id])
            #expect(id.description.hasSuffix(short[id]))
        }
    }

    @Test("random ids are shown by their beginning")
    func random() {
        let ids = (0..<100).map { _ in CallID.random() }
        let short = ShortIDs(ids)
        for id in ids { #expect(short[id] == id.description.prefix(8)) }
    }

    @Test(
        "where eight digits are not enough the other end serves, or more digits do",
        arguments: [
            (
                ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"],
                ["00000001", "00000002"]
            ),
            (
                ["0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e", "0b9c8e4e-6f2b-4d0b-9e55-3a1f8a1c2d3e"],
                ["0b9c8e4e-6f2a", "0b9c8e4e-6f2b"]
            ),
            // The end of one is the beginning of the other.
            (
                ["12345678-0000-4000-8000-0000aaaaaaaa", "aaaaaaaa-0000-4000-8000-000012345678"],
                ["12345678-0", "aaaaaaaa-0"]
            ),
            (["0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e", "", "bob"], ["0b9c8e4e", "", "bob"]),
        ])
    func lengths(ids: [String], expected: [String]) {
        let short = ShortIDs(ids)
        #expect(ids.map { short[$0] } == expected)
    }
}
