import CallVocabulary
import Foundation
import PushVocabulary
import Testing

@testable import PushCore

@Suite("Payload profiles")
struct PayloadProfileTests {
    private static let noon = Instant(milliseconds: 1_700_000_000_000)

    private static func intent(
        _ purpose: PushPurpose = .call, _ provider: PushProvider = .apns, _ kind: PushKind = .voip,
        name: String? = "Zoë \"Z\"", custom: String? = #"{"room": 7}"#, profile: String? = nil
    ) -> PushIntent {
        // Literals that are identifiers and handles.
        PushIntent(
            id: PushID("11111111-2222-4333-8444-555555555555")!, purpose: purpose,
            call: CallID("AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE")!, user: Handle("bob")!,
            device: DeviceID(high: 1, low: 2),
            token: PushToken(
                provider: provider, kind: kind, environment: .production,
                topic: topic(of: provider, kind),
                token: provider == .fcm ? "f:CM_1" : provider == .apns ? "0af9" : subscription, profile: profile),
            from: Handle("+81312345678")!, fromName: name, video: true,
            custom: custom.map { RawJSON(bytes: Array($0.utf8)) }, expiresAt: noon + .milliseconds(38_900),
            missedCount: purpose == .call ? 0 : 3)
    }

    private static func topic(of provider: PushProvider, _ kind: PushKind) -> String {
        switch provider {
        case .apns: kind == .voip ? "org.example.phone.voip" : "org.example.phone"
        case .fcm: "example-1"
        case .webpush: WebPushRequestTests.server
        }
    }

    private static let subscription =
        "https://push.example.net/#p256dh=\(WebPushRequestTests.p256dh)&auth=BTBZMqHH6r4Tts7J_aSIgg"

    private static func body(_ intent: PushIntent, _ profile: PayloadProfile) throws -> String {
        let request = try PushRequest(intent, wakeToken: "wake1.b5Yf", profile: profile)
        return String(decoding: request.content(now: noon), as: UTF8.self)
    }

    /// Every push of a profile, one a line.
    private static func record(_ profile: PayloadProfile) throws -> String {
        var lines: [String] = []
        let tokens: [(PushProvider, PushKind)] = [
            (.apns, .voip), (.apns, .alert), (.fcm, .data), (.fcm, .alert), (.webpush, .data),
        ]
        for (provider, kind) in tokens {
            for purpose in PushPurpose.allCases {
                let intent = intent(purpose, provider, kind)
                guard let delivery = intent.delivery else { continue }
                lines.append("\(delivery.rawValue) \(purpose.rawValue)\n\(try body(intent, profile))")
            }
        }
        return lines.joined(separator: "\n\n") + "\n"
    }

    private static let recorded = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Recorded")

    @Test("each profile's payloads are those that are checked in", arguments: PayloadProfile.builtIn.map(\.name))
    func golden(name: String) throws {
        let profile = try #require(PayloadProfile.builtIn.first { $0.name == name })
        let file = Self.recorded.appendingPathComponent("\(name).txt")
        let text = try Self.record(profile)
        if ProcessInfo.processInfo.environment["RECORD_OUTPUT"] != nil {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }

    @Test("a name of blanks is none in every profile: the screen shows the handle")
    func blankNames() throws {
        for profile in PayloadProfile.builtIn {
            for (provider, kind) in [
                (PushProvider.apns, PushKind.voip), (.apns, .alert), (.fcm, .data), (.fcm, .alert), (.webpush, .data),
            ] {
                for purpose in PushPurpose.allCases {
                    let none = Self.intent(purpose, provider, kind, name: nil)
                    guard none.delivery != nil else { continue }
                    for blank in [" ", "\t\u{3000}", "\u{200B}\u{FEFF}", "\u{2800}"] {
                        let named = Self.intent(purpose, provider, kind, name: blank)
                        #expect(try Self.body(named, profile) == Self.body(none, profile), "\(profile.name) \(purpose)")
                    }
                }
            }
        }
        #expect(try Self.body(Self.intent(name: " "), .reveille).contains(#""handle":"+81312345678""#))
    }

    @Test("every payload of a call carries the push's ids and deadline, whatever the profile")
    func required() throws {
        for profile in PayloadProfile.builtIn {
            for (provider, kind) in [
                (PushProvider.apns, PushKind.voip), (.apns, .alert), (.fcm, .data), (.webpush, .data),
            ] {
                let body = try Self.body(Self.intent(.call, provider, kind), profile)
                let object = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
                let data = (object["message"] as? [String: Any])?["data"] as? [String: Any] ?? object
                #expect(data["push_id"] as? String == "11111111-2222-4333-8444-555555555555", "\(profile.name)")
                #expect(data["wake_token"] as? String == "wake1.b5Yf", "\(profile.name)")
                #expect("\(data["expires_at"] ?? "")" == "1700000038900", "\(profile.name)")
                #expect("\(data["expires_in"] ?? "")" == "38", "\(profile.name)")
            }
        }
    }

    @Test("the largest payload of each profile fits its provider even with the longest name")
    func sizes() {
        for profile in PayloadProfile.builtIn {
            for part in PayloadProfile.Part.allCases {
                #expect(profile.largest(part, hasName: true) <= part.limit, "\(profile.name) \(part.rawValue)")
            }
        }
    }

    @Test("the article has the sizes")
    func article() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/PushCore/PushCore.docc/PayloadProfiles.md")
        let rows = PayloadProfile.builtIn.map { profile in
            let sizes = [PayloadProfile.Part.voip, .alert, .missedCall, .data, .web].map {
                "\(profile.largest($0, hasName: true))"
            }
            return "| `\(profile.name)` | \(sizes.joined(separator: " | ")) |"
        }
        var text = try String(contentsOf: file, encoding: .utf8)
        let end = "|---|---|---|---|---|---|\n"
        if ProcessInfo.processInfo.environment["RECORD_OUTPUT"] != nil, let range = text.range(of: end) {
            text = text[..<range.upperBound] + rows.joined(separator: "\n") + "\n"
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(text.hasSuffix(end + rows.joined(separator: "\n") + "\n"))
    }

    @Test("a template's values have their JSON types, texts are escaped, and a member without a value is left out")
    func template() throws {
        let profile = try PayloadProfile(
            name: "mine",
            json: Array(
                #"""
                {"voip": {"a": "${has_video}", "b": "${has_video:number}", "c": "${has_video:string}",
                  "d": "from ${name}!", "e": ["${handle}", 1, null], "f": {"g": "${custom}"}, "h": "${custom}",
                  "i": "$ {x}", "push_id": "${push_id}"},
                 "data": {"n": 1, "o": {"p": "${has_video}", "q": "${name}"}, "r": "${custom}", "s": true}}
                """#.utf8))
        var intent = Self.intent()
        #expect(
            try Self.body(intent, profile) == #"""
                {"a":true,"b":1,"c":"true","d":"from Zoë \"Z\"!","e":["+81312345678",1,null],"f":{"g":{"room": 7}},"h":{"room": 7},"i":"$ {x}","push_id":"11111111-2222-4333-8444-555555555555","expires_at":1700000038900,"expires_in":38,"wake_token":"wake1.b5Yf"}
                """#)
        intent.custom = nil
        #expect(try Self.body(intent, profile).contains(#""f":{},"i""#))
        let data = try Self.body(Self.intent(.call, .fcm, .data), profile)
        #expect(
            data.contains(
                #"""
                "data":{"n":"1","o":"{\"p\":true,\"q\":\"Zoë \\\"Z\\\"\"}","r":"{\"room\": 7}","s":"true","push_id"
                """#))
        // The other parts are those of `reveille`.
        #expect(
            try Self.body(Self.intent(.missedCall, .apns, .alert), profile)
                == Self.body(
                    Self.intent(.missedCall, .apns, .alert), .reveille))
    }

    @Test(
        "a template replaces one part; the other pushes are those of `reveille`",
        arguments: PayloadProfile.Part.allCases)
    func part(part: PayloadProfile.Part) throws {
        let profile = try PayloadProfile(
            name: "mine", json: Array(#"{"\#(part.rawValue)":{"mine":"${call_id}"}}"#.utf8))
        var replaced: [PayloadProfile.Part] = []
        for (provider, kind, purpose, its) in Self.pushes {
            let intent = Self.intent(purpose, provider, kind)
            let body = try Self.body(intent, profile)
            if body == (try Self.body(intent, .reveille)) { continue }
            #expect(body.contains(#""mine":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee""#))
            replaced.append(its)
        }
        #expect(Set(replaced) == [part])
    }

    /// Every push with the part of a profile that it carries.
    private static let pushes: [(PushProvider, PushKind, PushPurpose, PayloadProfile.Part)] = [
        (.apns, .voip, .call, .voip), (.apns, .alert, .call, .alert), (.apns, .alert, .missedCall, .missedCall),
        (.apns, .alert, .sync, .background), (.fcm, .data, .call, .data), (.fcm, .data, .missedCall, .dataMissedCall),
        (.fcm, .data, .sync, .dataSync), (.fcm, .alert, .call, .data), (.fcm, .alert, .missedCall, .dataMissedCall),
        (.webpush, .data, .call, .web), (.webpush, .data, .missedCall, .webMissedCall),
    ]

    @Test(
        "a bad template is refused with the place and what to write instead",
        arguments: [
            ("", "not valid JSON: it ends in the middle of a value at byte 0"),
            ("[]", "expected an object"),
            (#"{"voip": 1}"#, "voip: expected an object"),
            (
                #"{"void": {}}"#,
                "void: there is no such part; known: voip, alert, missed_call, background, data, "
                    + "data_missed_call, data_sync, web, web_missed_call"
            ),
            (#"{"voip": {"a": {"b": "${nam}"}}}"#, "voip.a.b: there is no placeholder ${nam}; known: ${call_id}, "),
            (#"{"voip": {"a": ["${name"]}}"#, "voip.a.0: a placeholder begins with ${ and ends with }"),
            (
                #"{"voip": {"a": "${name:number}"}}"#,
                "voip.a: the conversions are ${has_video:number} and :string of any"
            ),
            (#"{"voip": {"push_id": "x"}}"#, #"voip.push_id: the value of this member is always "${push_id}""#),
            (#"{"voip": {"a": 1, "a": 2}}"#, "voip.a: this member comes twice"),
            (#"{"data": {"a": null}}"#, "data.a: FCM takes strings only; leave the member out"),
            (
                #"{"voip": {"a": "\#(String(repeating: "x", count: 5000))"}}"#,
                "voip: the payload can take 5421 bytes without name and custom; the provider takes 5120"
            ),
        ])
    func refused(json: String, words: String) {
        let error = #expect(throws: PayloadTemplateError.self) {
            try PayloadProfile(name: "mine", json: Array(json.utf8))
        }
        #expect(error?.description.hasPrefix(words) == true, "\(error?.description ?? "")")
    }

    @Test("a device's choice goes before its topic's, which holds for the app's VoIP topic too")
    func choice() throws {
        var profiles = PayloadProfiles()
        let chosen = ["linphone", "other"].map { profiles.choose($0, forTopic: "org.example.phone") }
        #expect(chosen == [true, false])
        func name(_ kind: PushKind, _ profile: String? = nil) -> String {
            profiles.profile(for: Self.intent(.call, .apns, kind, profile: profile).token).name
        }
        #expect(name(.voip) == "linphone" && name(.alert) == "linphone")
        #expect(name(.voip, "connectycube") == "connectycube")
        // The configuration may have lost it since.
        #expect(name(.voip, "gone") == "linphone")
        #expect(profiles.profile(for: Self.intent(.call, .fcm, .data).token).name == "reveille")
        let isAdded = profiles.add(.reveille)
        #expect(!isAdded)
    }
}
