import CallVocabulary
import EventJournal
import Foundation
import HTTP2
import JWTKit
import Logging
import PushCore
import PushTestServer
import PushVocabulary
import Testing

@testable import PushClient

/// Plays FCM, its token endpoint and its registration API, and keeps what it was asked.
final class TestFCM: Sendable {
    typealias Answer = @Sendable (_ request: HTTP2ServerRequest, _ number: Int) -> PushTestServer.Reaction?

    private let seen: Journal<HTTP2ServerRequest>
    let server: PushTestServer

    /// - Parameter answer: given each request and its number among those of its path, from 0; nil leaves it to the test's
    ///   standard answers: a token, a message taken, a mapping.
    init(_ answer: @escaping Answer = { _, _ in nil }) async throws {
        let seen = Journal<HTTP2ServerRequest>()
        self.seen = seen
        server = try await PushTestServer { request in
            // Called on one thread.
            let number = seen.entries.count { $0.path == request.path }
            seen.append(request)
            return answer(request, number) ?? Self.standard(request, number)
        }
    }

    func requests(_ path: String) -> [HTTP2ServerRequest] {
        seen.entries.filter { $0.path == path }
    }

    static let send = "/v1/projects/example-1/messages:send"

    private static func standard(_ request: HTTP2ServerRequest, _ number: Int) -> PushTestServer.Reaction {
        switch request.path {
        case "/token":
            .respond(200, #"{"access_token":"ya29.\#(number)","expires_in":3599,"token_type":"Bearer"}"#)
        case "/iid/v1:batchImport":
            .respond(
                200, #"{"results":[{"apns_token":"00","status":"OK","registration_token":"mapped:1"}]}"#)
        case "/iid/v1:batchAdd", "/iid/v1:batchRemove": .respond(200, #"{"results":[{},{"error":"NOT_FOUND"}]}"#)
        default: .respond(200, #"{"name":"projects/example-1/messages/0:1"}"#)
        }
    }
}

extension Fixture {
    /// A started service that pushes by FCM, and by APNs if there is a server for that.
    static func fcm(
        _ fcm: TestFCM, apns: PushTestServer? = nil,
        change: @escaping (inout PushService.Configuration) -> Void = { _ in }
    ) async throws -> Fixture {
        var endpoint = try await FCMEndpoint.test(port: fcm.server.port)
        endpoint.policy.connectStagger = .milliseconds(20)
        endpoint.policy.reconnectBackoff = Backoff.Limits(base: .milliseconds(20), cap: .milliseconds(200))
        endpoint.policy.accessToken.fetchBackoff = Backoff.Limits(base: .milliseconds(20), cap: .milliseconds(200))
        endpoint.policy.accessToken.shortestInterval = .zero
        return try await start([apns, fcm.server].compactMap(\.self)) {
            if apns == nil { $0.apns = [] }
            $0.fcm = [endpoint]
            change(&$0)
        }
    }

    static func fcmOrder(
        _ number: UInt64 = 1, kind: PushKind = .data, project: String = "example-1", ring: Duration = .seconds(45)
    ) throws -> PushIntent {
        var intent = try order(number, ring: ring)
        intent.token = PushToken(
            provider: .fcm, kind: kind, environment: .production, topic: project, token: "f\(number):APA91b")
        return intent
    }
}

private struct AssertionClaims: JWTPayload {
    let iss: String
    let scope: String
    let aud: String
    let iat: Int64
    let exp: Int64

    func verify(using _: some JWTAlgorithm) {}
}

@Suite("Pushes by FCM against a real HTTP/2 server", .timeLimit(.minutes(5)))
struct FCMServiceTests {
    private static let unregisteredBody = """
        {"error":{"code":404,"status":"NOT_FOUND",\
        "details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}
        """

    @Test("a call reaches FCM as data with an access token that a signed assertion was exchanged for, once")
    func accepted() async throws {
        let fcm = try await TestFCM()
        let fixture = try await Fixture.fcm(fcm)
        #expect(try await fixture.send(try Fixture.fcmOrder(1)) == .accepted)
        #expect(try await fixture.send(try Fixture.fcmOrder(2, kind: .alert)) == .accepted)
        let sent = fcm.requests(TestFCM.send)
        #expect(sent.map { $0.first("authorization") } == ["Bearer ya29.0", "Bearer ya29.0"])
        let body = try #require(try JSONSerialization.jsonObject(with: Data(sent[0].body)) as? [String: Any])
        let message = try #require(body["message"] as? [String: Any])
        #expect(message["token"] as? String == "f1:APA91b")
        #expect((message["android"] as? [String: Any])?["priority"] as? String == "HIGH")
        #expect((message["data"] as? [String: String])?["wake_token"]?.hasPrefix("wake-") == true)

        let exchanges = fcm.requests("/token")
        try #require(exchanges.count == 1)
        #expect(exchanges[0].first("content-type") == "application/x-www-form-urlencoded")
        let form = String(decoding: exchanges[0].body, as: UTF8.self)
        let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        try #require(form.hasPrefix(prefix))
        let keys = JWTKeyCollection()
        let key = try Insecure.RSA.PrivateKey(pem: try await PushTestCertificates.shared.value.accountKeyPEM)
        await keys.add(rsa: key.publicKey, digestAlgorithm: .sha256, kid: "key-1")
        let claims = try await keys.verify(String(form.dropFirst(prefix.count)), as: AssertionClaims.self)
        #expect(claims.iss == "push@example-1.iam.gserviceaccount.com")
        #expect(claims.scope == "https://www.googleapis.com/auth/firebase.messaging")
        #expect(claims.aud == "https://127.0.0.1:\(fcm.server.port)/token")
        #expect(claims.exp - claims.iat == 3600 && abs(claims.iat - Fixture.now().wholeSeconds) < 60)

        await fixture.stop()
        let pool = try #require(fixture.service.statistics.pools.first)
        #expect(pool.provider == .fcm && pool.name == "FCM example-1" && pool.counters.accepted == 2)
    }

    @Test("an unregistered token is dead where messages are accepted, and FCM's code is the reason")
    func unregistered() async throws {
        let fcm = try await TestFCM { request, number in
            guard request.path == TestFCM.send, number > 0 else { return nil }
            return .respond(404, Self.unregisteredBody)
        }
        let fixture = try await Fixture.fcm(fcm)
        #expect(try await fixture.send(try Fixture.fcmOrder(1)) == .accepted)
        let outcome = try await fixture.send(try Fixture.fcmOrder(2))
        #expect(outcome == .rejected(reason: "UNREGISTERED", isTokenDead: true))
        await fixture.stop()
    }

    @Test("an access token that FCM does not take any more is replaced, and the push goes out once more")
    func staleToken() async throws {
        let fcm = try await TestFCM { request, number in
            guard request.path == TestFCM.send, request.first("authorization") == "Bearer ya29.0" else { return nil }
            return .respond(401, #"{"error":{"code":401,"status":"UNAUTHENTICATED"}}"#)
        }
        let fixture = try await Fixture.fcm(fcm)
        let intent = try Fixture.fcmOrder()
        #expect(try await fixture.send(intent) == .returned)
        #expect(try await fixture.transmit(intent) == .accepted)
        #expect(fcm.requests("/token").count == 2)
        #expect(fcm.requests(TestFCM.send).map { $0.first("authorization") } == ["Bearer ya29.0", "Bearer ya29.1"])
        await fixture.stop()
    }

    @Test("a token endpoint that fails is asked again after a while, and APNs' pushes go out meanwhile")
    func tokenEndpointDown() async throws {
        let apns = try await PushTestServer { _, _ in .respond(200) }
        let fcm = try await TestFCM { request, number in
            request.path == "/token" && number < 2 ? .respond(503, "busy") : nil
        }
        let fixture = try await Fixture.fcm(fcm, apns: apns)
        let first = try Fixture.fcmOrder(1)
        fixture.service.queue(first)
        let second = try Fixture.order(2)
        fixture.service.queue(second)
        var outcomes: [PushID: PushOutcome] = [:]
        while outcomes.count < 2 {
            switch try await fixture.next() {
            case .ready(let push): fixture.service.transmit(push)
            case .outcome(let push, let outcome): outcomes[push] = outcome
            }
        }
        #expect(outcomes[second.id] == .accepted)
        switch outcomes[first.id] {
        case .accepted: #expect(fcm.requests("/token").count == 3)
        case .unsent(let reason): #expect(reason.contains("HTTP 503"))
        default: Issue.record("neither sent nor refused in words: \(outcomes)")
        }
        await fixture.stop()
    }

    @Test("a service account that is not known is said to be so, with what to check")
    func invalidGrant() async throws {
        let fcm = try await TestFCM { request, _ in
            guard request.path == "/token" else { return nil }
            return .respond(400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#)
        }
        let registry = try await FCMRegistry(
            try await .test(port: fcm.server.port), now: Fixture.now, log: .init(label: "test"))
        let words = """
            no access token (invalid_grant): Invalid JWT Signature.; check the service account's key, and this \
            machine's clock
            """
        await #expect(throws: FCMRegistry.Failure(description: words)) {
            try await registry.subscribe(["a"], topic: "news")
        }
        await registry.stop()
        await fcm.server.stop()
    }

    @Test("pushes of another project, and by FCM without an account, are unsent with the reason")
    func noWay() async throws {
        let fcm = try await TestFCM()
        let fixture = try await Fixture.fcm(fcm) { $0.credentialsHint = "hint" }
        let other = try await fixture.outcome(queueing: Fixture.fcmOrder(1, project: "other"))
        #expect(other == .unsent(reason: "the FCM credentials are for example-1, not other: hint"))
        var notice = try Fixture.order(2)
        notice.purpose = .sync
        let reason = "a token of the kind apns/voip carries no sync push"
        #expect(try await fixture.outcome(queueing: notice) == .unsent(reason: reason))
        await fixture.stop()
    }

    @Test("an iPhone's alert goes through FCM by a mapped token, which is asked for once")
    func mappedAlert() async throws {
        let fcm = try await TestFCM()
        let fixture = try await Fixture.fcm(fcm) { $0.mapsIOSAlerts = true }
        for number in UInt64(1)...2 { #expect(try await fixture.send(try Self.alert(number)) == .accepted) }
        let imports = fcm.requests("/iid/v1:batchImport")
        try #require(imports.count == 1)
        #expect(imports[0].first("access_token_auth") == "true")
        #expect(
            String(decoding: imports[0].body, as: UTF8.self)
                == #"{"application":"org.example.phone","sandbox":true,"apns_tokens":["00aa"]}"#)
        let sent = fcm.requests(TestFCM.send).map { String(decoding: $0.body, as: UTF8.self) }
        #expect(sent.count == 2)
        #expect(sent.allSatisfy { $0.hasPrefix(#"{"message":{"token":"mapped:1","apns":{"#) })
        await fixture.stop()
    }

    @Test("a mapped token that FCM calls unregistered is mapped anew, and the device's own is not called dead")
    func mappedTokenGone() async throws {
        let fcm = try await TestFCM { request, number in
            guard request.path == TestFCM.send, number == 0 else { return nil }
            return .respond(404, Self.unregisteredBody)
        }
        let fixture = try await Fixture.fcm(fcm) { $0.mapsIOSAlerts = true }
        #expect(
            try await fixture.send(try Self.alert(1)) == .rejected(reason: "UNREGISTERED", isTokenDead: false))
        #expect(try await fixture.send(try Self.alert(2)) == .accepted)
        #expect(fcm.requests("/iid/v1:batchImport").count == 2)
        await fixture.stop()
    }

    @Test("an alert whose token cannot be mapped goes to APNs itself")
    func unmapped() async throws {
        let apns = try await PushTestServer { _, _ in .respond(200) }
        let fcm = try await TestFCM { request, _ in
            request.path == "/iid/v1:batchImport" ? .respond(500, "") : nil
        }
        let fixture = try await Fixture.fcm(fcm, apns: apns) { $0.mapsIOSAlerts = true }
        #expect(try await fixture.send(try Self.alert(1)) == .accepted)
        #expect(fcm.requests(TestFCM.send).isEmpty)
        var seen = apns.requests.makeAsyncIterator()
        let request = try #require(await seen.next()).request
        #expect(request.path == "/3/device/00aa" && request.first("apns-push-type") == "alert")
        await fixture.stop()
    }

    @Test("an app that FCM refuses, as a device may have made it up, stops the alerts of no other app")
    func madeUpApp() async throws {
        let apns = try await PushTestServer { _, _ in .respond(200) }
        let fcm = try await TestFCM { request, _ in
            guard request.path == "/iid/v1:batchImport" else { return nil }
            let isMadeUp = String(decoding: request.body, as: UTF8.self).contains("org.example.made-up")
            return isMadeUp ? .respond(403, "") : nil
        }
        let fixture = try await Fixture.fcm(fcm, apns: apns) { $0.mapsIOSAlerts = true }
        for number in UInt64(1)...2 {
            #expect(try await fixture.send(try Self.alert(number, of: "org.example.made-up")) == .accepted)
        }
        #expect(fcm.requests("/iid/v1:batchImport").count == 1 && fcm.requests(TestFCM.send).isEmpty)
        #expect(try await fixture.send(try Self.alert(3)) == .accepted)
        #expect(fcm.requests("/iid/v1:batchImport").count == 2 && fcm.requests(TestFCM.send).count == 1)
        await fixture.stop()
    }

    @Test("an operator's subscriptions and notices go to the registration and the send API, in batches")
    func registry() async throws {
        let fcm = try await TestFCM { request, number in
            guard request.path == "/iid/v1:batchAdd" else { return nil }
            let count = number == 0 ? 1000 : 1
            return .respond(200, "{\"results\":[\([String](repeating: "{}", count: count).joined(separator: ","))]}")
        }
        let registry = try await FCMRegistry(
            try await .test(port: fcm.server.port), now: Fixture.now, log: .init(label: "test"))
        let tokens = (0...1000).map { "t\($0)" }
        let outcomes = try await registry.subscribe(tokens, topic: "news")
        #expect(outcomes == [FCMRegistry.Outcome](repeating: .done(registrationToken: nil), count: 1001))
        #expect(fcm.requests("/iid/v1:batchAdd").count == 2)
        let ended = try await registry.subscribe(["a", "b"], isSubscribed: false, topic: "news")
        #expect(ended[1] == .failed("the registration token was deleted, or the app was removed (NOT_FOUND)"))
        let mapped = try await registry.map(["00"], application: "org.example.phone", isSandbox: false)
        #expect(mapped == [.done(registrationToken: "mapped:1")])
        try await registry.notify("Tonight", title: "Maintenance", topic: "news")
        #expect(fcm.requests(TestFCM.send).count == 1)
        #expect(fcm.requests("/token").count == 1)
        await registry.stop()
        await fcm.server.stop()
    }

    private static func alert(_ number: UInt64, of app: String = "org.example.phone") throws -> PushIntent {
        var intent = try Fixture.order(number)
        intent.purpose = .missedCall
        intent.token = PushToken(
            provider: .apns, kind: .alert, environment: .sandbox, topic: app, token: "00aa")
        return intent
    }
}
