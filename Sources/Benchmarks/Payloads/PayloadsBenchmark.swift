import CallVocabulary
import PushCore
import PushVocabulary

/// The cost of a push's request and body, for each built-in payload profile.
struct PayloadsBenchmark: ComponentBenchmark {
    let part = BenchmarkPart.payloads
    let writesToDisk = false
    var settings: PartSettings

    /// Repetitions of a measured piece, so that it takes longer than reading the clock.
    static let repeats = 64
    static let now = Instant(milliseconds: 1_790_000_000_000)

    var work: String {
        "the request and the body of a push for a call, as a VoIP push, as FCM data and as an encrypted Web Push"
    }

    /// - Throws: ``BenchmarkError`` when a body is not as expected, `PushRequest.Fault` for an unusable token.
    func measure(in folder: String, _ readings: inout Readings) throws {
        for profile in PayloadProfile.builtIn {
            for (kind, token) in [("VoIP", Self.apns), ("data", Self.fcm), ("Web Push", Self.web)] {
                let intent = Self.intent(token)
                let body = try Self.body(intent, profile)
                let cost = try Cost.measure(for: settings.seconds) { cost in
                    try cost.add(Self.repeats) {
                        for _ in 0..<Self.repeats {
                            let count = try Self.body(intent, profile).count
                            guard count == body.count else { throw BenchmarkError("the bodies of a push differ") }
                        }
                    }
                }
                let reference = ReferenceLoop.byteLoopCost(over: body, for: settings.seconds)
                readings.note(
                    "\(profile.name), \(kind)", cost, to: reference, against: ReferenceLoop.byteLoop,
                    also: [PartFigure.Quantity(Double(body.count), "bytes")])
            }
        }
    }

    static func body(_ intent: PushIntent, _ profile: PayloadProfile) throws -> [UInt8] {
        try PushRequest(intent, wakeToken: String(repeating: "w", count: 120), profile: profile).body(now: now)
    }

    private static let apns = PushToken(
        provider: .apns, kind: .voip, environment: .production, topic: PushWork.topic,
        token: String(repeating: "0a", count: 32))
    private static let fcm = PushToken(
        provider: .fcm, kind: .data, environment: .production, topic: "example-phone",
        token: "benchmark:" + String(repeating: "A", count: 142))

    /// The browser's key of RFC 8291 appendix A, and the sender's of RFC 8292 section 2.4.
    private static let web = PushToken(
        provider: .webpush, kind: .data, environment: .production,
        topic: "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs",
        token: "https://push.example.net/push/" + String(repeating: "A", count: 142)
            + "#p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
            + "&auth=BTBZMqHH6r4Tts7J_aSIgg")

    private static func intent(_ token: PushToken) -> PushIntent {
        // Force-unwraps: the literals are handles.
        PushIntent(
            id: PushID(high: 1, low: 2), call: CallID(high: 3, low: 4), user: Handle("bob")!,
            device: DeviceID(high: 5, low: 6), token: token, from: Handle("alice")!, fromName: "Alice", video: true,
            custom: nil, expiresAt: now + .seconds(38))
    }
}
