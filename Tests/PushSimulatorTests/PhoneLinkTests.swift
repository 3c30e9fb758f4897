import CallVocabulary
import EventLoop
import Foundation
import HTTP2
import PushSimulator
import Testing

@Suite("The phones' link", .simulator, .timeLimit(.minutes(5)))
struct PhoneLinkTests {
    typealias Harness = SimulatorHarness

    /// Sends a push that is expected to be accepted, and gives its apns-id.
    private func push(
        _ client: TestClient, to device: String, expiresIn seconds: Int = 60,
        payload: String = "{\"aps\":{}}"
    ) async throws -> String {
        let id = UUID().uuidString.lowercased()
        let answer = try await client.send(
            Harness.push(
                to: device, token: harness.providerToken(), id: id,
                expiration: "\(Int(Date().timeIntervalSince1970) + seconds)", payload: payload))
        #expect(answer.status == 200)
        return id
    }

    @Test("a phone registers over the link, attaches, and is listed")
    func register() async throws {
        let link = try await harness.link()
        let loop = harness.loop
        let token: String = try await withCheckedThrowingContinuation { continuation in
            loop.execute {
                let isAsked = link.value.register(topic: Harness.voipTopic, environment: .sandbox, name: "bob") {
                    continuation.resume(with: $0)
                }
                #expect(isAsked)
            }
        }
        #expect(token.count == 64)
        let listed = try #require(try await harness.snapshot().phone(token))
        #expect(listed.environment == "sandbox")
        #expect(listed.topic == Harness.voipTopic)
        #expect(listed.name == "bob")
        #expect(!listed.isAttached)
        let phone = try await TestPhone.attach(token)
        #expect(try await harness.snapshot().phone(token)?.isAttached == true)
        await phone.close()
    }

    @Test("an app that does not report is ended, three times, and then gets no VoIP pushes until the user opens it")
    func contract() async throws {
        try await Harness.with({ $0.reportWindow = .milliseconds(50) }) {
            let (device, client, token) = try await harness.provider()
            let phone = try await TestPhone.attach(device)
            for strike in 1...3 {
                let sent = Harness.push(to: device, token: token)
                #expect(try await client.send(sent).status == 200)
                let id = try await phone.nextPush().id
                guard case .killed(let unreported, let isBlocked) = try await phone.next() else {
                    return #expect(Bool(false), "the app was not ended")
                }
                #expect(unreported == [id])
                #expect(isBlocked == (strike == 3))
                #expect(try await phone.report(id) == .notAwaited)
            }
            #expect(try await client.send(Harness.push(to: device, token: token)).status == 200)
            let seen = try await harness.snapshot()
            #expect(seen.counts.kills == 3)
            #expect(seen.counts.contractViolations == 3)
            #expect(seen.counts.dropped == ["voip_blocked": 1])
            #expect(seen.phone(device)?.app == "killed")
            #expect(seen.phone(device)?.isVoIPBlocked == true)
            try await phone.move(to: .foreground)
            #expect(try await client.send(Harness.push(to: device, token: token)).status == 200)
            #expect(try await phone.nextPush().mustReport == false)
            #expect(try await harness.snapshot().phone(device)?.isVoIPBlocked == false)
        }
    }

    @Test("of the pushes for a phone that is away the newest is delivered when it attaches")
    func stored() async throws {
        let device = try await harness.phone()
        let client = try await harness.client()
        _ = try await push(client, to: device)
        let client2 = try await harness.client()
        let newest = try await push(client2, to: device)
        #expect(try await harness.snapshot().phone(device)?.storedPush == newest)
        let phone = try await TestPhone.attach(device)
        #expect(try await phone.nextPush().id == newest)
        let seen = try await harness.snapshot()
        #expect(seen.counts.stored == 2)
        #expect(seen.counts.replaced == 1)
        #expect(seen.counts.delivered == 1)
        #expect(seen.phone(device)?.storedPush == nil)
    }

    @Test("a phone that starts again takes its token over from its old link")
    func reattach() async throws {
        let device = try await harness.phone()
        let old = try await TestPhone.attach(device)
        let new = try await TestPhone.attach(device)
        guard case .detached("replaced") = try await old.next() else { return #expect(Bool(false)) }
        let id = try await push(harness.client(), to: device)
        #expect(try await new.nextPush().id == id)
        #expect(try await new.report(id) == .accepted)
    }

    @Test("a phone whose link is gone is away until it attaches again")
    func lostLink() async throws {
        let device = try await harness.phone()
        let first = try await TestPhone.attach(device)
        await first.close()
        while try await harness.snapshot().openConnections > 0 { await Task.yield() }
        #expect(try await harness.snapshot().phone(device)?.isAttached == false)
        let id = try await push(harness.client(), to: device)
        let second = try await TestPhone.attach(device)
        #expect(try await second.nextPush().id == id)
    }

    @Test("an attached phone without a network gets its push when the network is back")
    func offline() async throws {
        let device = try await harness.phone()
        let phone = try await TestPhone.attach(device)
        try await phone.move(to: .offline)
        let id = try await push(harness.client(), to: device)
        #expect(try await harness.snapshot().phone(device)?.storedPush == id)
        try await phone.move(to: .online)
        #expect(try await phone.nextPush().id == id)
    }

    @Test("one link carries many phones, each with its own pushes")
    func manyPhones() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: (String, PhoneLink.Event).self)
        let link = try await harness.link()
        var devices: [String] = []
        for _ in 0..<50 { devices.append(try await harness.phone()) }
        let all = devices
        _ = await harness.loop.run {
            for device in all { link.value.attach(device) { continuation.yield((device, $0)) } }
            #expect(!link.value.attach(all[0]) { _ in }, "a phone is attached once")
        }
        var iterator = events.makeAsyncIterator()
        for _ in devices {
            guard case (_, .attached)? = await iterator.next() else { return #expect(Bool(false)) }
        }
        #expect(try await harness.snapshot().counts.connections == 1)
        let client = try await harness.client()
        let token = try await harness.providerToken()
        for device in devices {
            let push = Harness.push(to: device, token: token, id: Self.id(of: device))
            #expect(try await client.send(push).status == 200)
        }
        var reached: Set<String> = []
        while reached.count < devices.count {
            guard let (device, event) = await iterator.next() else { return #expect(Bool(false)) }
            // On a busy machine the first apps are ended meanwhile, since these do not report.
            guard case .push(let push) = event else { continue }
            #expect(push.id == Self.id(of: device))
            reached.insert(device)
        }
        #expect(reached == Set(devices))
    }

    /// A UUID made of a device token.
    private static func id(of device: String) -> String {
        let digits = Array(device)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    @Test("a token nobody was given cannot be attached, and the end of the simulator is told")
    func endings() async throws {
        await #expect(throws: TestPhone.Unexpected.self) {
            _ = try await TestPhone.attach(String(repeating: "0", count: 64))
        }
        let phone = try await TestPhone.attach(try await harness.phone())
        await harness.simulator.stop()
        guard case .detached = try await phone.next() else { return #expect(Bool(false)) }
    }

    @Test("a removed app's token is answered 410 with the time, and its phone is told")
    func removedApp() async throws {
        let device = try await harness.phone()
        let phone = try await TestPhone.attach(device)
        let before = Int64(Date().timeIntervalSince1970 * 1000) - 1
        await harness.simulator.removeApp(fromPhone: device)
        guard case .detached("unregistered") = try await phone.next() else { return #expect(Bool(false)) }
        let answer = try await harness.client().send(Harness.push(to: device, token: harness.providerToken()))
        #expect(answer.status == 410)
        struct Body: Decodable {
            var reason: String
            var timestamp: Int64
        }
        let body = try JSONDecoder().decode(Body.self, from: Data(answer.body))
        #expect(body.reason == "Unregistered")
        #expect(body.timestamp >= before)
    }

    @Test("a payload that is no JSON object is accepted and never delivered")
    func notJSON() async throws {
        let device = try await harness.phone()
        let phone = try await TestPhone.attach(device)
        let client = try await harness.client()
        _ = try await push(client, to: device, payload: "[1]")
        #expect(try await harness.snapshot().counts.dropped == ["payload_not_json": 1])
        let next = try await push(harness.client(), to: device)
        #expect(try await phone.nextPush().id == next)
    }
}
