import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

@Suite("Requests for VoIP pushes")
struct VoIPRequestTests {
    private static func order(
        name: String? = nil, custom: Int = 0, token: String = "0aF9", topic: String = "org.example.phone.voip"
    ) throws -> PushIntent {
        PushIntent(
            id: try #require(PushID("11111111-2222-4333-8444-555555555555")),
            call: try #require(CallID("AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE")),
            user: try #require(Handle("bob")), device: DeviceID(high: 1, low: 2),
            token: PushToken(provider: .apns, kind: .voip, environment: .sandbox, topic: topic, token: token),
            from: try #require(Handle("+81312345678")), fromName: name, video: true,
            custom: custom == 0 ? nil : RawJSON(bytes: Array("\"\(String(repeating: "c", count: custom - 2))\"".utf8)),
            expiresAt: Instant(milliseconds: 1_700_000_045_678))
    }

    private static let now = Instant(milliseconds: 1_700_000_000_000)
    /// Four weeks before the push expires: the body is the longest.
    private static let longAgo = Instant(milliseconds: 1_700_000_045_678 - 28 * 86_400_000)

    @Test("the body carries the call flat, and leaves out what the intent has not")
    func body() throws {
        let payload = try #require(APNSPayload(voip: try Self.order(), wakeToken: "w"))
        #expect(
            String(decoding: payload.bytes(now: Self.now), as: UTF8.self) == """
                {"aps":{},"uuid":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee","handle":"+81312345678",\
                "handle_type":"phone","has_video":true,"push_id":"11111111-2222-4333-8444-555555555555",\
                "expires_at":1700000045678,"expires_in":45,"wake_token":"w"}
                """)
        #expect(payload.omitted == [])
    }

    @Test("the body names the group or the alias that was called, and nothing else")
    func called() throws {
        let own = try Self.order().user
        let cases: [(CallTarget, String?)] = [
            (.group("sales \"A\""), #""to":"sales \"A\"""#), (.user(try #require(Handle("+8150"))), #""to":"+8150""#),
            (.user(own), nil),
            (.users([own, try #require(Handle("carol"))]), nil),
        ]
        for (target, member) in cases {
            var intent = try Self.order()
            intent.to = target
            let text = String(
                decoding: try #require(APNSPayload(voip: intent, wakeToken: "w")).bytes(now: Self.now), as: UTF8.self)
            #expect(text.contains(#""to":"#) == (member != nil))
            if let member { #expect(text.contains(member)) }
        }
    }

    @Test("names are escaped and custom data passes byte for byte")
    func nameAndCustom() throws {
        var intent = try Self.order(name: "Zoë \"Z\"\n")
        intent.custom = RawJSON(bytes: Array(#"{"a": [1,  2]}"#.utf8))
        let text = String(
            decoding: try #require(APNSPayload(voip: intent, wakeToken: "w")).bytes(now: Self.now), as: UTF8.self)
        #expect(text.contains(#""name":"Zoë \"Z\"\n""#))
        #expect(text.hasSuffix(#""custom":{"a": [1,  2]}}"#))
    }

    @Test("a body of exactly 5,120 bytes is sent whole; one byte more drops custom alone")
    func limit() throws {
        let small = try #require(APNSPayload(voip: try Self.order(name: "Zoe", custom: 2), wakeToken: "w"))
        let rest = small.bytes(now: Self.longAgo).count - 2
        let fits = try #require(
            APNSPayload(voip: try Self.order(name: "Zoe", custom: 5120 - rest), wakeToken: "w"))
        #expect(fits.bytes(now: Self.longAgo).count == 5120)
        #expect(fits.omitted == [])
        let tooLong = try #require(
            APNSPayload(voip: try Self.order(name: "Zoe", custom: 5121 - rest), wakeToken: "w"))
        #expect(tooLong.omitted == [.custom])
        #expect(String(decoding: tooLong.bytes(now: Self.now), as: UTF8.self).contains("\"name\":\"Zoe\""))
    }

    @Test("the name goes only when dropping custom was not enough, and the rest never")
    func nameDropped() throws {
        let long = String(repeating: "n", count: 6000)
        let payload = try #require(APNSPayload(voip: try Self.order(name: long, custom: 10), wakeToken: "w"))
        #expect(payload.omitted == [.custom, .name])
        #expect(!String(decoding: payload.bytes(now: Self.now), as: UTF8.self).contains("name"))
        let token = String(repeating: "t", count: 6000)
        #expect(APNSPayload(voip: try Self.order(name: "Zoe"), wakeToken: token) == nil)
        let intent = try Self.order(name: "Zoe")
        #expect(throws: PushRequest.Fault.payloadTooLarge) { try PushRequest(intent, wakeToken: token) }
    }

    @Test("the header is that of a VoIP push, and what differs each time stays out of HPACK's table")
    func header() throws {
        let request = try PushRequest(try Self.order(), wakeToken: "w")
        #expect(request.path == "/3/device/0af9" && !request.isPathIndexed)
        let fields = request.fields(providerToken: "a.b.c", now: Instant(milliseconds: 1_700_000_000_000))
        #expect(
            fields.map { "\($0.name): \($0.value)" } == [
                "authorization: bearer a.b.c", "apns-topic: org.example.phone.voip", "apns-push-type: voip",
                "apns-priority: 10", "apns-expiration: 1700000045", "apns-id: 11111111-2222-4333-8444-555555555555",
            ])
        #expect(fields.filter { !$0.isIndexed }.map(\.name) == ["apns-expiration", "apns-id"])
        let certified = request.fields(providerToken: nil, now: Instant(milliseconds: 1_700_000_000_000))
        #expect(certified == Array(fields.dropFirst()), "a certificate takes the place of the token")
    }

    @Test("the expiration is the ring deadline rounded down, and 0 within its last second")
    func expiration() throws {
        let request = try PushRequest(try Self.order(), wakeToken: "w")
        let deadline = request.expiresAt
        #expect(request.expiration(now: deadline + .milliseconds(-1000)) == 1_700_000_045)
        #expect(request.expiration(now: deadline + .milliseconds(-999)) == 0)
        #expect(request.expiration(now: deadline) == 0)
    }

    @Test(
        "a token or topic that would break the request out of its place is refused",
        arguments: [
            ("", "a.voip", PushRequest.Fault.tokenNotHexadecimal), ("../x", "a.voip", .tokenNotHexadecimal),
            ("12 34", "a.voip", .tokenNotHexadecimal), ("12é", "a.voip", .tokenNotHexadecimal),
            ("12", "", .topicNotPrintable), ("12", "a b", .topicNotPrintable), ("12", "a\r\nb", .topicNotPrintable),
        ])
    func faults(_ row: (token: String, topic: String, fault: PushRequest.Fault)) throws {
        let intent = try Self.order(token: row.token, topic: row.topic)
        #expect(throws: row.fault) { try PushRequest(intent, wakeToken: "w") }
    }
}
