import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

@Suite("Requests")
struct PushRequestTests {
    private static let noon = Instant(milliseconds: 1_700_000_000_000)
    private static let call = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

    private static func order(
        _ provider: PushProvider, _ kind: PushKind, _ purpose: PushPurpose = .call, name: String? = "Zoë \"Z\"",
        custom: String? = nil, topic: String? = nil, token: String? = nil
    ) throws -> PushIntent {
        let isAPNS = provider == .apns
        let bundle = kind == .voip ? "org.example.phone.voip" : "org.example.phone"
        return PushIntent(
            id: try #require(PushID("11111111-2222-4333-8444-555555555555")), purpose: purpose,
            call: try #require(CallID(call)), user: try #require(Handle("bob")), device: DeviceID(high: 1, low: 2),
            token: PushToken(
                provider: provider, kind: kind, environment: .production,
                topic: topic ?? (isAPNS ? bundle : "example-1"),
                token: token ?? (isAPNS ? "0aF9" : "f:CM_1")),
            from: try #require(Handle("+81312345678")), fromName: name, video: false,
            custom: custom.map { RawJSON(bytes: Array($0.utf8)) }, expiresAt: noon + .milliseconds(38_900),
            missedCount: purpose == .call ? 0 : 3)
    }

    private static func body(_ request: PushRequest, now: Instant = noon) -> String {
        String(decoding: request.body(now: now), as: UTF8.self)
    }

    private static func lines(_ request: PushRequest) -> [String] {
        request.fields(providerToken: "t", now: noon).map { "\($0.name): \($0.value)" }
    }

    // The bodies of all kinds, whole, are among the payload profiles' recorded ones.

    @Test("the body carries the call flat, and leaves out what the intent has not")
    func body() throws {
        let request = try PushRequest(try Self.order(.apns, .voip, name: nil), wakeToken: "w")
        #expect(
            Self.body(request) == """
                {"aps":{},"uuid":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee","handle":"+81312345678",\
                "handle_type":"phone","has_video":false,"push_id":"11111111-2222-4333-8444-555555555555",\
                "expires_at":1700000038900,"expires_in":38,"wake_token":"w"}
                """)
        #expect(request.omitted == [])
    }

    @Test("the body names the group or the alias that was called, and nothing else")
    func called() throws {
        var intent = try Self.order(.apns, .voip)
        let own = intent.user
        let cases: [(CallTarget, String?)] = [
            (.group("sales \"A\""), #""to":"sales \"A\"""#), (.user(try #require(Handle("+8150"))), #""to":"+8150""#),
            (.user(own), nil),
            (.users([own, try #require(Handle("carol"))]), nil),
        ]
        for (target, member) in cases {
            intent.to = target
            let text = Self.body(try PushRequest(intent, wakeToken: "w"))
            #expect(text.contains(#""to":"#) == (member != nil))
            if let member { #expect(text.contains(member)) }
        }
    }

    @Test("names are escaped and custom data passes byte for byte")
    func nameAndCustom() throws {
        let intent = try Self.order(.apns, .voip, name: "Zoë \"Z\"\n", custom: #"{"a": [1,  2]}"#)
        let text = Self.body(try PushRequest(intent, wakeToken: "w"))
        #expect(text.contains(#""name":"Zoë \"Z\"\n""#))
        #expect(text.hasSuffix(#""custom":{"a": [1,  2]}}"#))
    }

    @Test("the header is that of a VoIP push, and what differs each time stays out of HPACK's table")
    func header() throws {
        let request = try PushRequest(try Self.order(.apns, .voip), wakeToken: "w")
        #expect(request.path == "/3/device/0af9" && !request.isPathIndexed)
        #expect(
            Self.lines(request) == [
                "authorization: bearer t", "apns-topic: org.example.phone.voip", "apns-push-type: voip",
                "apns-priority: 10", "apns-expiration: 1700000038", "apns-id: 11111111-2222-4333-8444-555555555555",
            ])
        let fields = request.fields(providerToken: "t", now: Self.noon)
        #expect(fields.filter { !$0.isIndexed }.map(\.name) == ["apns-expiration", "apns-id"])
        let certified = request.fields(providerToken: nil, now: Self.noon)
        #expect(certified == Array(fields.dropFirst()), "a certificate takes the place of the token")
    }

    @Test("the expiration is the ring deadline rounded down, and 0 within its last second")
    func expiration() throws {
        let request = try PushRequest(try Self.order(.apns, .voip), wakeToken: "w")
        let deadline = request.expiresAt
        #expect(request.expiration(now: deadline + .milliseconds(-1000)) == 1_700_000_038)
        #expect(request.expiration(now: deadline + .milliseconds(-999)) == 0)
        #expect(request.expiration(now: deadline) == 0)
    }

    @Test("an alert takes the place of the one before of the same call")
    func alert() throws {
        let request = try PushRequest(try Self.order(.apns, .alert), wakeToken: "w")
        #expect(
            Self.lines(request) == [
                "authorization: bearer t", "apns-topic: org.example.phone", "apns-push-type: alert",
                "apns-priority: 10", "apns-expiration: 1700000038", "apns-id: 11111111-2222-4333-8444-555555555555",
                "apns-collapse-id: \(Self.call)",
            ])
        let missed = try PushRequest(try Self.order(.apns, .alert, .missedCall, custom: "1"), wakeToken: "w")
        #expect(Self.lines(missed).contains("apns-collapse-id: \(Self.call)"))
        #expect(missed.omitted == [], "what a notice does not carry is not left out of it")
    }

    @Test(
        "the words are the configured ones, and another for video; without a name the handle is the title",
        arguments: [PushProvider.apns, .fcm])
    func words(provider: PushProvider) throws {
        var texts = AlertTexts()
        texts.incomingVideoCall = "Videoanruf"
        var intent = try Self.order(provider, .alert, name: nil)
        for words in ["Incoming call", "Videoanruf"] {
            let text = Self.body(try PushRequest(intent, wakeToken: "w", texts: texts))
            #expect(text.contains(#"{"title":"+81312345678","body":"\#(words)"}"#))
            intent.video = true
        }
    }

    @Test("a background push has priority 5 and nothing that the user would see or hear")
    func background() throws {
        let request = try PushRequest(try Self.order(.apns, .alert, .sync), wakeToken: "w")
        #expect(Self.lines(request).contains("apns-priority: 5"))
        #expect(Self.lines(request).contains("apns-push-type: background"))
        #expect(!Self.lines(request).contains { $0.hasPrefix("apns-collapse-id") })
    }

    @Test("a message of FCM goes to its project with an access token")
    func message() throws {
        let request = try PushRequest(try Self.order(.fcm, .data), wakeToken: "w")
        #expect(request.path == "/v1/projects/example-1/messages:send" && request.isPathIndexed)
        #expect(Self.lines(request) == ["authorization: Bearer t", "content-type: application/json"])
    }

    @Test("FCM's time to live is the ring time left when it is sent, in whole seconds rounded down")
    func timeToLive() throws {
        let request = try PushRequest(try Self.order(.fcm, .data), wakeToken: "w")
        for (passed, seconds) in [(0, 38), (900, 38), (901, 37), (37_901, 0), (38_899, 0)] as [(Int64, Int)] {
            let text = Self.body(request, now: Self.noon + .milliseconds(passed))
            #expect(text.contains("\"ttl\":\"\(seconds)s\""), "\(passed) ms later")
        }
    }

    @Test("an iPhone's alert through FCM carries what APNs would have been given")
    func mapped() throws {
        let intent = try Self.order(.apns, .alert)
        let direct = Self.body(try PushRequest(intent, wakeToken: "w"))
        let request = try PushRequest(intent, mapped: "m:1", project: "example-1", wakeToken: "w")
        #expect(
            Self.body(request) == """
                {"message":{"token":"m:1","apns":{"headers":{"apns-push-type":"alert","apns-priority":"10",\
                "apns-expiration":"1700000038","apns-collapse-id":"\(Self.call)"},"payload":\(direct)}}}
                """)
        #expect(Self.body(request, now: Self.noon + .seconds(38)).contains("\"apns-expiration\":\"0\""))
        #expect(request.provider == .fcm && request.path == "/v1/projects/example-1/messages:send")
        #expect(throws: PushRequest.Fault.notCarried) {
            try PushRequest(
                try Self.order(.apns, .voip), mapped: "m", project: "example-1", wakeToken: "w")
        }
    }

    @Test(
        "VoIP pushes have 5,120 bytes, all others 4,096: the one more drops custom, then the name, then the push",
        arguments: [
            (PushProvider.apns, PushKind.voip, 5120), (.apns, .alert, 4096), (.fcm, .data, 4096), (.fcm, .alert, 4096),
        ])
    func limits(_ row: (provider: PushProvider, kind: PushKind, bytes: Int)) throws {
        func request(name: Int, custom: Int, wake: Int = 1) throws -> PushRequest {
            let custom = custom == 0 ? nil : String(repeating: "1", count: custom)
            return try PushRequest(
                try Self.order(row.provider, row.kind, name: String(repeating: "n", count: name), custom: custom),
                wakeToken: String(repeating: "w", count: wake))
        }
        // FCM's time to live and the seconds left are counted with the most digits they may have.
        let reserve = row.provider == .fcm ? 10 : 5
        let rest = row.bytes - Self.body(try request(name: 1, custom: 1)).utf8.count - reserve
        let full = try request(name: 1, custom: 1 + rest)
        #expect(full.omitted == [] && full.body(now: Self.noon).count == row.bytes - reserve)
        let tooLong = try request(name: 1, custom: 2 + rest)
        #expect(tooLong.omitted == [.custom] && Self.body(tooLong).contains(#""n""#))
        let long = try request(name: row.bytes, custom: 1)
        #expect(long.omitted == [.custom, .name] && !Self.body(long).contains("nn"))
        #expect(throws: PushRequest.Fault.payloadTooLarge) { try request(name: 1, custom: 0, wake: row.bytes) }
    }

    @Test(
        "what would break out of a path or a field is refused, and what a token cannot carry",
        arguments: [
            (PushProvider.apns, PushKind.alert, PushPurpose.call, "a", "0g", PushRequest.Fault.tokenNotHexadecimal),
            (.apns, .voip, .call, "a.voip", "", .tokenNotHexadecimal),
            (.apns, .voip, .call, "a.voip", "../x", .tokenNotHexadecimal),
            (.apns, .voip, .call, "a.voip", "12 34", .tokenNotHexadecimal),
            (.apns, .voip, .call, "a.voip", "12é", .tokenNotHexadecimal),
            (.apns, .voip, .call, "", "12", .topicNotPrintable), (.apns, .voip, .call, "a b", "12", .topicNotPrintable),
            (.apns, .voip, .call, "a\r\nb", "12", .topicNotPrintable),
            (.apns, .alert, .sync, "a b", "00", .topicNotPrintable),
            (.fcm, .data, .call, "a/b", "t", .projectNotPlain), (.fcm, .data, .call, "", "t", .projectNotPlain),
            (.fcm, .alert, .call, "a%2Fb", "t", .projectNotPlain), (.fcm, .data, .call, "a", "", .tokenNotPrintable),
            (.fcm, .data, .call, "a", "t\n", .tokenNotPrintable), (.apns, .voip, .missedCall, "a", "00", .notCarried),
            (.fcm, .alert, .sync, "a", "t", .notCarried), (.apns, .data, .call, "a", "00", .notCarried),
        ])
    func faults(
        _ row: (
            provider: PushProvider, kind: PushKind, purpose: PushPurpose, topic: String, token: String,
            fault: PushRequest.Fault
        )
    ) throws {
        let intent = try Self.order(row.provider, row.kind, row.purpose, topic: row.topic, token: row.token)
        #expect(throws: row.fault) { try PushRequest(intent, wakeToken: "w") }
    }
}
