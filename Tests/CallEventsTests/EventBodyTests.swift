import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import Foundation
import Testing

@testable import CallEvents

struct EventBodyTests {
    private struct Body: Decodable {
        struct Contents: Decodable {
            var seq: Int?
            var call: CallView?
            var push: PushView?
            var device: DeviceView?
            var token: TokenView?
            var user: String?
            var custom: [String: String]?
        }
        var type: String
        var timestamp: String
        var data: Contents
    }

    private static let at = Instant(milliseconds: 1_789_689_600_123)
    private static let device = DeviceKey(user: Handle("bob")!, device: DeviceID(high: 1, low: 2))

    private static func call(to target: CallTarget = .group("sales\"east\"")) -> CallRecord {
        let caller = Party(user: Handle("alice")!, device: DeviceID(high: 3, low: 4))
        var call = CallRecord(
            id: CallID(high: 5, low: 6), caller: caller, callerName: "Alice \u{1F600} \"A\"", to: target, video: true,
            inviteDigest: 7, state: .ended, createdAt: at, ringsUntil: at + .seconds(45))
        call.ringingAt = at + .milliseconds(20)
        call.answeredAt = at + .milliseconds(500)
        call.answeredBy = Party(user: device.user, device: device.device)
        call.connectedAt = at + .milliseconds(900)
        call.lostAt = at + .seconds(8)
        call.endedAt = at + .seconds(9)
        call.endReason = .connectionLost
        call.endedBy = caller
        call.mergedInto = CallID(high: 8, low: 9)
        call.forwards = [.init(reason: .busy, to: .user(Handle("carol")!), at: at, firstMember: 1)]
        return call
    }

    private static let token = PushToken(
        provider: .apns, kind: .voip, environment: .production, topic: "com.example.app.voip",
        token: String(repeating: "ab", count: 32), profile: "callkeep")

    private static let push: PushRecord = {
        var push = PushRecord(
            id: PushID(high: 10, low: 11), call: CallID(high: 5, low: 6), device: device, token: token, intendedAt: at,
            expiresAt: at + .seconds(45))
        push.status = .rejected
        push.reason = "Unregistered"
        push.reportError = "none"
        push.report = .unreported
        push.sentAt = at + .milliseconds(3)
        push.answeredAt = at + .milliseconds(30)
        push.reportedAt = at + .seconds(1)
        push.reportDueAt = at + .seconds(30)
        return push
    }()

    private static let record = DeviceRecord(
        key: device, platform: .ios, app: "1.0", name: "Bob's phone",
        tokens: [.init(token: token, registeredAt: at)], seenAt: at, unreportedStreak: 3,
        suspendedAt: at + .seconds(2), probes: 1, nextProbeAt: at + .seconds(60))

    private static func bytes(_ subject: EventRecord.Subject) -> [UInt8] {
        var bytes: [UInt8] = []
        EventBody.append(EventRecord(id: EventID(high: 1, low: 1), at: at, subject: subject), to: &bytes)
        return bytes
    }

    private static func body(_ subject: EventRecord.Subject) throws -> Body {
        try JSONDecoder().decode(Body.self, from: Data(bytes(subject)))
    }

    @Test("calls have the members of the admin API")
    func call() throws {
        for target in [CallTarget.user(Handle("bob")!), .users([Handle("bob")!, Handle("carol")!]), .group("sales")] {
            let body = try Self.body(.call(Self.call(to: target), number: 5, .ended))
            #expect(body.type == "call.ended")
            #expect(body.timestamp == "2026-09-18T00:00:00.123Z")
            #expect(body.data.seq == 5)
            #expect(body.data.call == CallView(Self.call(to: target)))
        }
    }

    @Test("each member of an admin API's view is in the body, byte for byte the same JSON")
    func sameJSON() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        func expect(_ view: some Encodable, _ name: String, in subject: EventRecord.Subject) throws {
            let body = try JSONSerialization.jsonObject(with: Data(Self.bytes(subject))) as? [String: Any]
            let data = try #require(body?["data"] as? [String: Any])
            let part = try #require(data[name] as? NSObject)
            let expected = try JSONSerialization.jsonObject(with: encoder.encode(view)) as? NSObject
            #expect(part == expected, "\(name)")
        }
        try expect(CallView(Self.call()), "call", in: .call(Self.call(), number: 1, .ended))
        try expect(PushView(Self.push), "push", in: .call(Self.call(), number: 1, .pushRejected(Self.push)))
        try expect(DeviceView(Self.record), "device", in: .device(Self.record, .suspended))
        try expect(TokenView(Self.token), "token", in: .device(Self.record, .tokenDead(Self.token)))
    }

    @Test("each kind has its own type, and what it is about")
    func kinds() throws {
        let changes: [(EventRecord.CallChange, EventKind)] = [
            (.invited(custom: nil), .callInvited), (.ringing, .callRinging), (.answered, .callAnswered),
            (.connected, .callConnected), (.ended, .callEnded), (.missed(by: Handle("bob")!), .callMissed),
            (.pushRejected(Self.push), .pushRejected), (.pushUnreported(Self.push), .pushUnreported),
        ]
        let deviceChanges: [(EventRecord.DeviceChange, EventKind)] = [
            (.registered, .deviceRegistered), (.suspended, .deviceSuspended), (.resumed, .deviceResumed),
            (.tokenDead(Self.token), .deviceTokenDead),
        ]
        #expect(Set(changes.map(\.1) + deviceChanges.map(\.1)) == Set(EventKind.allCases))
        for (change, kind) in changes {
            let body = try Self.body(.call(Self.call(), number: 1, change))
            #expect(body.type == kind.rawValue)
            #expect(body.data.device == nil)
        }
        for (change, kind) in deviceChanges {
            let body = try Self.body(.device(Self.record, change))
            #expect(body.type == kind.rawValue)
            #expect(body.data.call == nil && body.data.seq == nil)
        }
        #expect(try Self.body(.call(Self.call(), number: 1, .missed(by: Handle("bob")!))).data.user == "bob")
    }

    @Test("a push token is cut, in every event")
    func tokens() {
        let subjects: [EventRecord.Subject] = [
            .call(Self.call(), number: 1, .pushRejected(Self.push)), .device(Self.record, .tokenDead(Self.token)),
            .device(Self.record, .registered),
        ]
        for subject in subjects {
            #expect(!String(decoding: Self.bytes(subject), as: UTF8.self).contains(Self.token.token))
        }
    }

    @Test("an invite's custom data is in its event, and no body exceeds the bound")
    func sizes() throws {
        func custom(_ count: Int) -> RawJSON {
            RawJSON(bytes: Array("{\"a\":\"\(String(repeating: "x", count: count - 8))\"}".utf8))
        }
        #expect(try Self.body(.call(Self.call(), number: 1, .invited(custom: custom(20)))).data.custom?["a"] != nil)
        // Quotation marks are escaped, which doubles a handle. The second list is not cut.
        let long = (0..<FrameLimits.handles).map { Handle("\"\($0)" + String(repeating: "\"", count: 100))! }
        let short = (0..<FrameLimits.handles).map { Handle("\"\"" + String($0, radix: 36))! }
        for count in [20, 8 * 1024, 8 * 1024 + 1, FrameLimits.custom] {
            for users in [long, short] {
                var call = Self.call(to: .users(users))
                // A row of the store has no limit for it.
                call.callerName = String(repeating: "\"", count: 12_000)
                let subject = EventRecord.Subject.call(call, number: 1, .invited(custom: custom(count)))
                #expect(Self.bytes(subject).count <= EventBody.longest)
                let body = try Self.body(subject)
                #expect(body.data.call?.fromName?.utf8.count == FrameLimits.name)
                let text = String(decoding: Self.bytes(subject), as: UTF8.self)
                #expect(text.contains(#""to_count":1000,"#) == (users == long))
                #expect((body.data.custom == nil) == (count > 8 * 1024))
            }
        }
    }
}
