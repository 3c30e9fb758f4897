import CallVocabulary
import Testing

@testable import CallCore

@Suite("Digests of invites") struct BodyDigestTests {
    private static let call = CallID(high: 1, low: 2)
    private static let bob = CallTarget.user(Handle("bob")!)

    private static func digest(_ change: (inout Invite) -> Void) -> UInt64 {
        let sdp = RawJSON(bytes: Array("\"v=0 o=- 1 IN IP4 192.0.2.1\"".utf8))
        var invite = Invite(call: call, to: bob, sdp: sdp)
        change(&invite)
        return invite.digest
    }

    @Test("each byte of a body counts, wherever it stands, and how many there are")
    func bytes() {
        let body = (0..<37).map { UInt8($0) }
        var seen: Set<UInt64> = []
        for count in 0...body.count { seen.insert(Self.digest { $0.sdp = RawJSON(bytes: Array(body.prefix(count))) }) }
        for place in body.indices {
            for bit in 0..<8 {
                var changed = body
                changed[place] ^= 1 << bit
                seen.insert(Self.digest { $0.sdp = RawJSON(bytes: changed) })
            }
        }
        // Zeros at the end are bytes too.
        for count in 1...17 { seen.insert(Self.digest { $0.sdp = RawJSON(bytes: Array(repeating: 0, count: count)) }) }
        // One zero alone is the prefix of one byte.
        #expect(seen.count == body.count + 1 + 8 * body.count + 16)
    }

    @Test("bodies that differ in one field differ, and fields do not run into each other")
    func fields() {
        func json(_ text: String) -> RawJSON { RawJSON(bytes: Array(text.utf8)) }
        func users(_ names: String...) -> CallTarget { .users(names.map { Handle($0)! }) }
        let changes: [(inout Invite) -> Void] = [
            { _ in }, { $0.video = true }, { $0.ringTime = .seconds(10) }, { $0.ringTime = .seconds(11) },
            { $0.sdp = nil }, { $0.custom = json("{}") }, { ($0.sdp, $0.custom) = (nil, $0.sdp) },
            { ($0.sdp, $0.custom) = (json("12"), json("3")) }, { ($0.sdp, $0.custom) = (json("1"), json("23")) },
            { $0.to = .group("bob") }, { $0.to = users("bob") }, { $0.to = users("bob", "b") },
            { $0.to = users("bo", "bb") }, { $0.to = users("bobb") }, { $0.to = users("b", "bob") },
        ]
        #expect(Set(changes.map { Self.digest($0) }).count == changes.count)
        #expect(Self.digest { _ in } == Self.digest { $0.call = CallID(high: 3, low: 4) }, "the id is no part of it")
    }
}
