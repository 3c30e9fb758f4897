import CallVocabulary
import ClientTokens
import Foundation
import HTTP2
import TLS
import Testing

@testable import PushSimulator

@Suite("The Web Push service and the browsers behind it", .simulator, .timeLimit(.minutes(5)))
struct WebPushServiceTests {
    private func scene() async throws -> (sender: WebPushSender, client: TestClient, browser: String) {
        let sender = WebPushSender(origin: try #require(harness.manifest.webpush).origin)
        return (sender, try await harness.webPushClient(), try await browser(of: sender))
    }

    private func browser(of sender: WebPushSender) async throws -> String {
        try #require(
            await harness.simulator.registerPhone(
                topic: sender.publicKey, environment: .production, name: "test", provider: .webpush))
    }

    private func errorName(_ answer: TestClient.Answer) throws -> String {
        let error = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        #expect(error?["code"] as? Int == answer.status)
        return "\(answer.status) \(error?["error"] as? String ?? "")"
    }

    @Test("a push comes to the browser decrypted, and the notification is reported")
    func delivered() async throws {
        let (sender, client, token) = try await scene()
        let subscription = try WebPushSubscription(token)
        #expect(subscription.origin == sender.origin)
        #expect(
            PushToken(
                provider: .webpush, kind: .data, environment: .production, topic: sender.publicKey, token: token
            ).fault == nil)
        let browser = try await TestPhone.attach(token)
        let text = #"{"uuid":"6B1E","name":"Ann"}"#
        let answer = try await client.send(sender.push(text, to: token, changes: ["topic": "abc"]))
        #expect(answer.status == 201 && answer.body.isEmpty && answer.first("ttl") == "30")
        let push = try await browser.nextPush()
        #expect(answer.first("location") == "\(sender.origin)/message/\(push.id)")
        #expect(push.provider == .webpush && !push.isVoIP && push.mustReport)
        #expect(String(decoding: push.payload, as: UTF8.self) == text)
        #expect(
            push.headers == [
                "webpush-id": push.id, "webpush-urgency": "high", "webpush-ttl": "30", "webpush-topic": "abc",
            ])
        #expect(try await browser.report(push.id) == .accepted)
        let seen = try await harness.snapshot()
        #expect(seen.counts.received == 1 && seen.counts.accepted == 1 && seen.counts.delivered == 1)
        #expect(seen.counts.reported == 1 && seen.counts.dropped.isEmpty)
        let phone = try #require(seen.phone(token))
        #expect(phone.provider == "webpush" && phone.isAttached && phone.alerts.map(\.id) == [push.id])
        #expect(try await browser.report(push.id) == .notAwaited)
    }

    @Test("content that is no JSON object becomes a string, and a push without content null")
    func contents() async throws {
        let (sender, client, token) = try await scene()
        let browser = try await TestPhone.attach(token)
        for (text, expected) in [("hello \"you\"", #""hello \"you\"""#), ("[1]", #""[1]""#), ("", "\"\"")] {
            #expect(try await client.send(sender.push(text, to: token)).status == 201)
            #expect(String(decoding: try await browser.nextPush().payload, as: UTF8.self) == expected)
        }
        let empty = try sender.push(body: [], to: token, changes: ["content-encoding": nil])
        #expect(try await client.send(empty).status == 201)
        #expect(try await browser.nextPush().payload == Array("null".utf8))
    }

    @Test("each refusal has its status and name")
    func refusals() async throws {
        let (sender, client, token) = try await scene()
        let stranger = WebPushSender(origin: sender.origin)
        let over = try await browser(of: sender)
        await harness.simulator.removeApp(fromPhone: over)
        func name(_ changes: [String: String?], to browser: String = token) async throws -> String {
            try errorName(try await client.send(sender.push("{}", to: browser, changes: changes)))
        }
        #expect(try await name([:], to: over) == "410 gone")
        #expect(try await name([:], to: token.replacing("/push/", with: "/push/x")) == "404 not_found")
        let missing = try await client.send(sender.push("{}", to: token, changes: ["authorization": nil]))
        #expect(try errorName(missing) == "401 missing_authorization")
        #expect(missing.first("www-authenticate") == "vapid")
        #expect(try await name(["authorization": "WebPush x"]) == "401 bad_authorization")
        let signed = try sender.authorization()
        #expect(try await name(["authorization": signed.replacing(", k=", with: "A, k=")]) == "403 bad_token")
        #expect(try await name(["authorization": try stranger.authorization()]) == "403 bad_key")
        for (audience, life, subject, expected) in [
            ("https://push.example.org", 3600, "mailto:a@example.org", "403 bad_audience"),
            (sender.origin, -1, "mailto:a@example.org", "403 bad_expiration"),
            (sender.origin, 86_460, "mailto:a@example.org", "403 bad_expiration"),
            (sender.origin, 60, nil, "403 bad_subject"),
        ] {
            let value = try sender.authorization(audience: audience, life: life, subject: subject)
            #expect(try await name(["authorization": value]) == expected)
        }
        #expect(try await name(["ttl": nil]) == "400 missing_ttl")
        #expect(try await name(["topic": "not base64url"]) == "400 bad_topic")
        #expect(try await name(["urgency": "urgent"]) == "400 bad_urgency")
        #expect(try await name(["content-encoding": "aesgcm"]) == "400 bad_encoding")
        let long = try sender.push(body: [UInt8](repeating: 0, count: 4097), to: token)
        #expect(try errorName(try await client.send(long)) == "413 payload_too_large")
        let counts = try await harness.snapshot().counts
        #expect(counts.accepted == 0 && counts.rejectedTotal == counts.received && counts.received == 15)
        #expect(counts.rejected["bad_expiration"] == 2)
    }

    @Test("a push that the browser cannot decrypt is accepted and dropped, with the fault in the counts")
    func undecryptable() async throws {
        let (sender, client, token) = try await scene()
        let browser = try await TestPhone.attach(token)
        let other = try await self.browser(of: sender)
        let good = try sender.seal(Array("{}".utf8), for: token)
        var short = good
        (short[18], short[19]) = (0, 18)
        for body in [try sender.seal(Array("{}".utf8), for: other), short, Array(good[..<40]), [1]] {
            #expect(try await client.send(sender.push(body: body, to: token)).status == 201)
        }
        #expect(
            try await harness.snapshot().counts.dropped == [
                "undecryptable_authentication": 1, "undecryptable_several_records": 1,
                "undecryptable_truncated_header": 2,
            ])
        #expect(try await client.send(sender.push(body: good, to: token)).status == 201)
        #expect(try await browser.nextPush().payload == Array("{}".utf8))
    }

    @Test("while the browser is offline a newer push of the topic replaces the older one; TTL 0 is not stored")
    func offline() async throws {
        let (sender, client, token) = try await scene()
        for (text, changes) in [
            (#"{"n":1}"#, ["topic": "call"]), (#"{"n":2}"#, ["topic": "call"]), (#"{"n":3}"#, ["ttl": "0"]),
        ] {
            #expect(try await client.send(sender.push(text, to: token, changes: changes)).status == 201)
        }
        let browser = try await TestPhone.attach(token)
        #expect(try await browser.nextPush().payload == Array(#"{"n":2}"#.utf8))
        let counts = try await harness.snapshot().counts
        #expect(counts.stored == 2 && counts.replaced == 1 && counts.dropped == ["phone_away": 1])
        try await browser.move(to: .offline)
        #expect(try await client.send(sender.push("{}", to: token)).status == 201)
        #expect(try await harness.snapshot().phone(token)?.storedMessages.count == 1)
        try await browser.move(to: .online)
        #expect(try await browser.nextPush().payload == Array("{}".utf8))
    }

    @Test("faults go to one browser by its subscription, and only to Web Push")
    func faults() async throws {
        let (sender, client, token) = try await scene()
        let lucky = try await browser(of: sender)
        func order(_ fault: PushFault) async { await harness.simulator.inject(fault) }
        await order(PushFault(.lose, count: 1))
        #expect(try await client.send(sender.push("{}", to: lucky)).status == 201)
        #expect(await harness.simulator.waitingFaults().count == 1)
        await harness.simulator.clearFaults()
        for (refusal, retryAfter) in [
            (WebPushRefusal.gone, nil), (.notFound, nil), (.tooManyRequests, 7), (.internalError, nil),
            (.unavailable, 2), (.badToken, nil),
        ] {
            await order(
                PushFault(.refuseWebPush(refusal, retryAfter: retryAfter), deviceToken: token, count: 1))
            #expect(try await client.send(sender.push("{}", to: lucky)).status == 201)
            let answer = try await client.send(sender.push("{}", to: token))
            #expect(try errorName(answer) == "\(refusal.status) \(refusal.rawValue)")
            #expect(answer.first("retry-after") == retryAfter.map { "\($0)" })
        }
        await order(PushFault(.html(status: 502), service: .webpush, count: 1))
        #expect(try await client.send(sender.push("{}", to: token)).status == 502)
        await order(PushFault(.emptyBody(status: 500), service: .webpush, count: 1))
        #expect(try await client.send(sender.push("{}", to: token)).status == 500)
        await order(PushFault(.splitBody(pause: .milliseconds(10)), service: .webpush, count: 1))
        let split = try await client.send(sender.push("{}", to: token))
        #expect(split.pieces == 2)
        #expect(try errorName(split) == "500 internal_error")
        let browser = try await TestPhone.attach(token)
        await order(PushFault(.deliverLate(.milliseconds(20)), service: .webpush, count: 1))
        #expect(try await client.send(sender.push(#"{"late":1}"#, to: token, changes: ["ttl": "0"])).status == 201)
        #expect(try await browser.nextPush().payload == Array(#"{"late":1}"#.utf8))
        await order(PushFault(.refuseAndClose, service: .webpush, count: 1))
        #expect(try await client.send(sender.push("{}", to: token)).status == 503)
        await client.end()
    }

    @Test(
        "GOAWAY in the middle of many pushes: what it disowns comes to no browser",
        arguments: [PushFault.GoAway.LastStream.zero, .before, .current])
    func goAway(last: PushFault.GoAway.LastStream) async throws {
        let (sender, client, token) = try await scene()
        let push = try sender.push("{}", to: token)
        #expect(try await client.send(push).status == 201)
        let before = try await harness.snapshot().counts
        await harness.simulator.inject(PushFault(.retire(.init(lastStream: last)), service: .webpush, count: 1))
        let answers = await client.sendTogether(Array(repeating: push, count: 16))
        await client.end()
        #expect((answers.count == 16) == (last == .current) && answers.allSatisfy { $0 == 201 })
        let after = try await harness.snapshot().counts
        #expect(after.accepted - before.accepted == answers.count && after.stored - before.stored == answers.count)
    }

    @Test("the admin API ends the senders' connections of Web Push alone")
    func admin() async throws {
        let (sender, client, token) = try await scene()
        let admin = try PushSimulatorAdmin(folder: harness.folder)
        #expect(try await client.send(sender.push("{}", to: token)).status == 201)
        try await admin.endProviderConnections(provider: .fcm, environment: .production, PushFault.GoAway())
        #expect(try await client.send(sender.push("{}", to: token)).status == 201)
        try await admin.endProviderConnections(provider: .webpush, environment: .production, PushFault.GoAway())
        await client.end()
        #expect(try await admin.snapshot().phones.map(\.provider) == ["webpush"])
    }

    @Test("the subscription's keys and its pushes can be read, for a check by other code")
    func subscription() async throws {
        let (sender, client, token) = try await scene()
        let push = try sender.push("{}", to: token)
        #expect(try await client.send(push).status == 201)
        let path = "/simulator/v1/phones/\(SimulatedPhone.key(of: token))/subscription"
        let answer = try await client.send(HTTP2Request(method: "GET", authority: "localhost", path: path))
        let view = try #require(PhoneLinkMessages.decode(PhoneLinkMessages.Subscription.self, from: answer.body))
        #expect(token == "\(view.endpoint)#p256dh=\(view.keys.p256dh)&auth=\(view.keys.auth)")
        #expect(view.pushes.map(\.body) == [Base64URL.encode(push.body)])
        let iPhone = try await harness.phone()
        let none = try await client.send(
            HTTP2Request(
                method: "GET", authority: "localhost", path: "/simulator/v1/phones/\(iPhone)/subscription"))
        #expect(none.status == 404)
    }

    @Test("a browser subscribes with a key of P-256, and with nothing else")
    func keys() async throws {
        let (_, client, _) = try await scene()
        for topic in ["reveille-phone", "BAAA", String(repeating: "A", count: 87)] {
            let body = #"{"provider":"webpush","topic":"\#(topic)"}"#
            let answer = try await client.send(
                HTTP2Request(
                    method: "POST", authority: "localhost", path: "/simulator/v1/phones", body: Array(body.utf8)))
            #expect(answer.status == 400 && answer.text.contains("applicationServerKey"), "\(answer.text)")
        }
    }
}

@Suite("Browsers that show nothing", .timeLimit(.minutes(5)))
struct SilentBrowserTests {
    @Test("the third push without a notification ends the subscription")
    func revoked() async throws {
        try await SimulatorHarness.with {
            $0.notificationWindow = .milliseconds(50)
        } _: {
            let sender = WebPushSender(origin: try #require(harness.manifest.webpush).origin)
            let token = try #require(
                await harness.simulator.registerPhone(
                    topic: sender.publicKey, environment: .production, name: "test", provider: .webpush))
            let browser = try await TestPhone.attach(token)
            let client = try await harness.webPushClient()
            for _ in 1...3 {
                #expect(try await client.send(sender.push("{}", to: token)).status == 201)
                _ = try await browser.nextPush()
            }
            guard case .detached("unregistered") = try await browser.next() else {
                Issue.record("the browser keeps its subscription")
                return
            }
            #expect(try await client.send(sender.push("{}", to: token)).status == 410)
            let seen = try await harness.snapshot()
            #expect(seen.counts.contractViolations == 3 && seen.counts.revoked == 1)
            let phone = try #require(seen.phone(token))
            #expect(phone.isUnregistered && phone.failures == 3)
            #expect(phone.alerts.map(\.body) == [SimulatedBrowser.ownNotification])
        }
    }
}
