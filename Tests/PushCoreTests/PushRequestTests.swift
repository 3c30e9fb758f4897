import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

@Suite("Requests for all but VoIP pushes")
struct PushRequestTests {
    private static let noon = Instant(milliseconds: 1_700_000_000_000)
    private static let call = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

    private static func order(
        _ provider: PushProvider, _ kind: PushKind, _ purpose: PushPurpose = .call, name: String? = "Zoë \"Z\"",
        custom: String? = nil, topic: String? = nil, token: String? = nil
    ) throws -> PushIntent {
        let isAPNS = provider == .apns
        return PushIntent(
            id: try #require(PushID("11111111-2222-4333-8444-555555555555")), purpose: purpose,
            call: try #require(CallID(call)), user: try #require(Handle("bob")), device: DeviceID(high: 1, low: 2),
            token: PushToken(
                provider: provider, kind: kind, environment: .production,
                topic: topic ?? (isAPNS ? "org.example.phone" : "example-1"),
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

    private static let caller = """
        "uuid":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee","handle":"+81312345678","handle_type":"phone",\
        "name":"Zoë \\"Z\\""
        """

    @Test("an alert for a call shows caller and words, breaks through, and carries the call as a VoIP push does")
    func alertForCall() throws {
        let request = try PushRequest(try Self.order(.apns, .alert, custom: "{\"a\": 1}"), wakeToken: "w")
        #expect(
            Self.body(request) == """
                {"aps":{"alert":{"title":"Zoë \\"Z\\"","body":"Incoming call"},"sound":"default","mutable-content":1,\
                "interruption-level":"time-sensitive"},\(Self.caller),"has_video":false,\
                "push_id":"11111111-2222-4333-8444-555555555555","expires_at":1700000038900,"expires_in":38,"wake_token":"w",\
                "custom":{"a": 1}}
                """)
        #expect(
            Self.lines(request) == [
                "authorization: bearer t", "apns-topic: org.example.phone", "apns-push-type: alert",
                "apns-priority: 10", "apns-expiration: 1700000038", "apns-id: 11111111-2222-4333-8444-555555555555",
                "apns-collapse-id: \(Self.call)",
            ])
    }

    @Test("the words are the configured ones, and another for video; without a name the handle is the title")
    func words() throws {
        var texts = AlertTexts()
        texts.incomingVideoCall = "Videoanruf"
        var intent = try Self.order(.apns, .alert, name: nil)
        intent.video = true
        let text = Self.body(try PushRequest(intent, wakeToken: "w", texts: texts))
        #expect(text.contains(#""alert":{"title":"+81312345678","body":"Videoanruf"}"#))
    }

    @Test("an alert for a missed call has the badge and takes the place of the call's alert")
    func alertForMissedCall() throws {
        let request = try PushRequest(try Self.order(.apns, .alert, .missedCall, custom: "1"), wakeToken: "w")
        #expect(
            Self.body(request) == """
                {"aps":{"alert":{"title":"Zoë \\"Z\\"","body":"Missed call"},"sound":"default","badge":3,\
                "mutable-content":1},"type":"missed_call",\(Self.caller),"missed":3}
                """)
        #expect(Self.lines(request).contains("apns-collapse-id: \(Self.call)"))
        #expect(request.omitted == [], "what a notice does not carry is not left out of it")
    }

    @Test("a background push has priority 5 and nothing that the user would see or hear")
    func background() throws {
        let request = try PushRequest(try Self.order(.apns, .alert, .sync), wakeToken: "w")
        #expect(Self.body(request) == #"{"aps":{"content-available":1},"type":"sync","missed":3}"#)
        #expect(Self.lines(request).contains("apns-priority: 5"))
        #expect(Self.lines(request).contains("apns-push-type: background"))
        #expect(!Self.lines(request).contains { $0.hasPrefix("apns-collapse-id") })
    }

    @Test("FCM data for a call is of high priority, lives as long as it rings, and has strings only")
    func dataForCall() throws {
        let request = try PushRequest(try Self.order(.fcm, .data, custom: "{\"a\":\"b\"}"), wakeToken: "w")
        #expect(
            Self.body(request) == """
                {"message":{"token":"f:CM_1","data":{\(Self.caller),"has_video":"false",\
                "push_id":"11111111-2222-4333-8444-555555555555","expires_at":"1700000038900","expires_in":"38","wake_token":"w",\
                "custom":"{\\"a\\":\\"b\\"}"},"android":{"priority":"HIGH","ttl":"38s"}}}
                """)
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

    @Test("FCM notices are of normal priority; what only wakes the app takes the place of an older one")
    func dataForNotices() throws {
        let missed = Self.body(try PushRequest(try Self.order(.fcm, .data, .missedCall), wakeToken: "w"))
        #expect(
            missed == """
                {"message":{"token":"f:CM_1","data":{"type":"missed_call",\(Self.caller),"missed":"3"},\
                "android":{"priority":"NORMAL","ttl":"38s"}}}
                """)
        let sync = Self.body(try PushRequest(try Self.order(.fcm, .data, .sync), wakeToken: "w"))
        #expect(
            sync == """
                {"message":{"token":"f:CM_1","data":{"type":"sync","missed":"3"},\
                "android":{"priority":"NORMAL","ttl":"38s","collapse_key":"sync"}}}
                """)
    }

    @Test("an FCM alert has a notification whose tag lets the missed call take the call's place")
    func fcmAlert() throws {
        for (purpose, priority, words) in [
            (PushPurpose.call, "HIGH", "Incoming call"), (.missedCall, "NORMAL", "Missed call"),
        ] {
            let text = Self.body(try PushRequest(try Self.order(.fcm, .alert, purpose), wakeToken: "w"))
            #expect(text.contains(#""notification":{"title":"Zoë \"Z\"","body":"\#(words)"},"data":{"#))
            #expect(
                text.contains(
                    #""android":{"priority":"\#(priority)","ttl":"38s","#
                        + #""notification":{"tag":"\#(Self.call)"}}"#))
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
        "all but VoIP pushes have 4,096 bytes: the one more drops custom, then the name, then the push",
        arguments: [(PushProvider.apns, PushKind.alert), (.fcm, .data), (.fcm, .alert)])
    func limits(_ row: (provider: PushProvider, kind: PushKind)) throws {
        func request(name: Int, custom: Int, wake: Int = 1) throws -> PushRequest {
            let custom = custom == 0 ? nil : String(repeating: "1", count: custom)
            return try PushRequest(
                try Self.order(row.provider, row.kind, name: String(repeating: "n", count: name), custom: custom),
                wakeToken: String(repeating: "w", count: wake))
        }
        // FCM's time to live and the seconds left are counted with the most digits they may have.
        let reserve = row.provider == .fcm ? 10 : 5
        let rest = 4096 - Self.body(try request(name: 1, custom: 1)).utf8.count - reserve
        let full = try request(name: 1, custom: 1 + rest)
        #expect(full.omitted == [] && full.body(now: Self.noon).count == 4096 - reserve)
        #expect(try request(name: 1, custom: 2 + rest).omitted == [.custom])
        let long = try request(name: 4096, custom: 1)
        #expect(long.omitted == [.custom, .name] && !Self.body(long).contains("nn"))
        #expect(throws: PushRequest.Fault.payloadTooLarge) { try request(name: 1, custom: 0, wake: 4096) }
    }

    @Test(
        "what would break out of a path or a field is refused, and what a token cannot carry",
        arguments: [
            (PushProvider.apns, PushKind.alert, PushPurpose.call, "a", "0g", PushRequest.Fault.tokenNotHexadecimal),
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
