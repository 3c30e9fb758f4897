import CallVocabulary
import Crypto
import Determinism
import Foundation
import PushVocabulary
import Testing

@testable import PushCore

@Suite("Encryption of Web Push")
struct WebPushEncryptionTests {
    static func bytes(_ text: String) throws -> [UInt8] {
        var text = text.replacing("-", with: "+").replacing("_", with: "/")
        while !text.utf8.count.isMultiple(of: 4) { text += "=" }
        return [UInt8](try #require(Data(base64Encoded: text)))
    }

    @Test("the message of RFC 8291 appendix A is encrypted to the bytes there")
    func appendix() throws {
        let subscription = try WebPushSubscription(
            "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"
                + "#p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
                + "&auth=BTBZMqHH6r4Tts7J_aSIgg")
        let keys = try WebPushEncryption.MessageKeys(
            key: Self.bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), salt: Self.bytes("DGv6ra1nlYgDCS1FRnbzlw"))
        let body = try #require(
            WebPushEncryption.encrypt(
                Array("When I grow up, I want to be a watermelon".utf8), to: subscription, with: keys))
        #expect(
            WebPushSubscription.base64URL(body) == """
                DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml\
                mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT\
                pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
                """)
    }

    @Test("the content of RFC 8188 section 3.1 is coded to the bytes there")
    func coding() throws {
        let body = WebPushEncryption.seal(
            Array("I am the walrus".utf8), keyingMaterial: SymmetricKey(data: try Self.bytes("yqdlZ-tYemfogSmv7Ws5PQ")),
            salt: try Self.bytes("I1BsxtFttlv3u_Oo94xnmw"), keyID: [])
        #expect(
            WebPushSubscription.base64URL(body)
                == "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg")
    }

    @Test("a point that is not on the curve is no key")
    func curve() throws {
        let key = try Self.bytes(WebPushRequestTests.p256dh)
        #expect(WebPushEncryption.isPublicKey(key))
        var other = key
        other[64] ^= 1
        #expect(!WebPushEncryption.isPublicKey(other))
        #expect(!WebPushEncryption.isPublicKey([4] + [UInt8](repeating: 0, count: 64)))
    }

    @Test("key and salt are fresh for each message, and follow from the generator alone")
    func fresh() {
        var (first, second) = (SeededGenerator(seed: 1), SeededGenerator(seed: 1))
        let (a, b, c) = (
            WebPushEncryption.MessageKeys(random: &first), WebPushEncryption.MessageKeys(random: &first),
            WebPushEncryption.MessageKeys(random: &second)
        )
        #expect(a.salt == c.salt && a.key.rawRepresentation == c.key.rawRepresentation)
        #expect(a.salt != b.salt && a.key.rawRepresentation != b.key.rawRepresentation)
        #expect(a.salt.count == 16)
    }

    /// A generator whose first numbers are no key: all ones is above the order of the curve, 0 is none.
    private struct Stubborn: RandomNumberGenerator {
        var count = 0

        mutating func next() -> UInt64 {
            count += 1
            return count <= 4 ? .max : count <= 8 ? 0 : UInt64(count)
        }
    }

    @Test("bytes that are no key are passed over")
    func passedOver() {
        var random = Stubborn()
        let keys = WebPushEncryption.MessageKeys(random: &random)
        #expect(keys.key.rawRepresentation.contains { $0 != 0 && $0 != 255 })
        #expect(random.count == 14)
    }
}

@Suite("Requests of Web Push")
struct WebPushRequestTests {
    static let p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let server = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
    private static let noon = Instant(milliseconds: 1_700_000_000_000)

    static func intent(
        _ purpose: PushPurpose = .call, name: String? = "Zoë", custom: String? = nil, ring: Duration = .seconds(45),
        topic: String = server,
        token: String = "https://push.example.net/p/1?x#p256dh=\(p256dh)&auth=BTBZMqHH6r4Tts7J_aSIgg"
    ) throws -> PushIntent {
        PushIntent(
            id: try #require(PushID("11111111-2222-4333-8444-555555555555")), purpose: purpose,
            call: try #require(CallID("aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee")), user: try #require(Handle("bob")),
            device: DeviceID(high: 1, low: 2),
            token: PushToken(
                provider: .webpush, kind: .data, environment: .production, topic: topic, token: token),
            from: try #require(Handle("+81312345678")), fromName: name, video: false,
            custom: custom.map { RawJSON(bytes: Array($0.utf8)) }, expiresAt: noon + ring,
            missedCount: purpose == .call ? 0 : 3)
    }

    private static func lines(_ request: PushRequest, _ now: Instant = noon) -> [String] {
        request.fields(providerToken: "t.o.k", now: now).map { "\($0.name): \($0.value)" }
    }

    @Test("a call's header, and that of the missed call that replaces it")
    func header() throws {
        let call = try PushRequest(try Self.intent(), wakeToken: "w")
        #expect(call.path == "/p/1?x" && !call.isPathIndexed)
        let shared = [
            "authorization: vapid t=t.o.k, k=\(Self.server)", "content-type: application/octet-stream",
            "content-encoding: aes128gcm",
        ]
        #expect(
            Self.lines(call) == shared + ["ttl: 45", "urgency: high", "topic: qqqqqru7TMyN3e7u7u7u7g"])
        let missed = try PushRequest(try Self.intent(.missedCall, ring: .seconds(3600)), wakeToken: "")
        #expect(
            Self.lines(missed) == shared + ["ttl: 3600", "urgency: normal", "topic: qqqqqru7TMyN3e7u7u7u7g"])
        let fields = call.fields(providerToken: "t", now: Self.noon)
        #expect(fields.filter { !$0.isIndexed }.map(\.name) == ["ttl", "topic"])
    }

    @Test("the time to live is what is left of the ring time, in whole seconds, and 0 in the last one")
    func timeToLive() throws {
        let request = try PushRequest(try Self.intent(ring: .milliseconds(45_999)), wakeToken: "w")
        let times: [(Int, String)] = [
            (0, "45"), (999, "45"), (1000, "44"), (44_000, "1"), (45_000, "0"), (46_500, "0"),
        ]
        for (milliseconds, seconds) in times {
            #expect(Self.lines(request, Self.noon + .milliseconds(milliseconds)).contains("ttl: \(seconds)"))
        }
        #expect(request.hasTimeToLive)
    }

    @Test("the content is the flat call, with JSON types, and the body is never the same twice")
    func content() throws {
        let request = try PushRequest(try Self.intent(custom: #"{"a":1}"#), wakeToken: "w")
        #expect(
            String(decoding: request.content(now: Self.noon), as: UTF8.self) == """
                {"uuid":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee","handle":"+81312345678","handle_type":"phone","name":"Zoë",\
                "has_video":false,"push_id":"11111111-2222-4333-8444-555555555555","expires_at":1700000045000,\
                "expires_in":45,"wake_token":"w","custom":{"a":1}}
                """)
        let bodies = (0..<2).map { _ in request.body(now: Self.noon) }
        #expect(bodies[0] != bodies[1])
        #expect(bodies[0].prefix(16) != bodies[1].prefix(16) && bodies[0][21..<86] != bodies[1][21..<86])
        var (random, again) = (SeededGenerator(seed: 7), SeededGenerator(seed: 7))
        #expect(request.body(now: Self.noon, random: &random) == request.body(now: Self.noon, random: &again))
    }

    @Test("a body has at most 4,096 bytes: the one more drops custom, then the name, then the push")
    func limits() throws {
        func request(name: Int = 1, custom: Int, wake: Int = 1) throws -> PushRequest {
            let custom = custom == 0 ? nil : String(repeating: "1", count: custom)
            return try PushRequest(
                try Self.intent(name: String(repeating: "n", count: name), custom: custom),
                wakeToken: String(repeating: "w", count: wake))
        }
        // The seconds left are counted with seven digits.
        let rest = 4096 - 5 - (try request(custom: 1).body(now: Self.noon).count)
        let full = try request(custom: 1 + rest)
        #expect(full.omitted == [] && full.body(now: Self.noon).count == 4091)
        #expect(try request(custom: 2 + rest).omitted == [.custom])
        let long = try request(name: 4096, custom: 1)
        #expect(long.omitted == [.custom, .name])
        #expect(throws: PushRequest.Fault.payloadTooLarge) { try request(custom: 0, wake: 4096) }
    }

    @Test("what is no subscription is refused, and what would break out of a field")
    func faults() throws {
        let rows: [(PushPurpose, String?, String?, PushRequest.Fault)] = [
            (.sync, nil, nil, .notCarried), (.call, nil, "https://a/#p256dh=x&auth=y", .notASubscription),
            (.call, nil, "http://a/#p256dh=\(Self.p256dh)&auth=BTBZMqHH6r4Tts7J_aSIgg", .notASubscription),
            (
                .call, nil, "https://a/#p256dh=\(Self.p256dh.dropLast(2))A4&auth=BTBZMqHH6r4Tts7J_aSIgg",
                .browserKeyNotOnCurve
            ),
            (.call, "a, b=c", nil, .applicationServerKey), (.call, "", nil, .applicationServerKey),
        ]
        for (purpose, topic, token, fault) in rows {
            var intent = try Self.intent(purpose)
            intent.token = PushToken(
                provider: .webpush, kind: .data, environment: .production, topic: topic ?? Self.server,
                token: token ?? intent.token.token)
            #expect(throws: fault) { try PushRequest(intent, wakeToken: "w") }
        }
    }
}
