import CallVocabulary
import Foundation
import HTTP2
import JWTKit
import PushCore
import PushTestServer
import PushVocabulary
import Testing

@testable import PushClient

@Suite("Push configurations that cannot work")
struct PushRouteTests {
    private static let key = APNSKey(pem: ES256PrivateKey().pemRepresentation, keyID: "KEY1", teamID: "TEAM1")

    private static func problem(_ configuration: PushService.Configuration) -> PushConfigurationError? {
        #expect(throws: PushConfigurationError.self) { try configuration.check() }
    }

    @Test(
        "the binary provider API is refused by host and by port, with what to use in its place",
        arguments: [
            ("gateway.push.apple.com", 2195, "host"), ("GATEWAY.sandbox.push.apple.com", 443, "host"),
            ("feedback.push.apple.com", 2196, "host"), ("127.0.0.1", 2195, "port"), ("127.0.0.1", 2196, "port"),
        ] as [(String, UInt16, String)])
    func binaryAPI(_ row: (host: String, port: UInt16, field: String)) {
        let endpoint = APNSEndpoint(environment: .production, host: row.host, port: row.port, key: Self.key)
        let error = Self.problem(PushService.Configuration(apns: [endpoint]))
        #expect(error?.source == "APNs production" && error?.field == row.field)
        #expect(
            error?.problem == """
                \(row.host):\(row.port) is the binary provider API, which Apple shut down in March 2021: \
                use api.push.apple.com on port 443 or 2197
                """)
    }

    @Test("port 2197 and other hosts are taken")
    func otherPorts() throws {
        try PushService.Configuration(
            apns: [APNSEndpoint(environment: .production, port: 2197, key: Self.key)]
        ).check()
    }

    @Test("a key that is not P-256 is refused, without a word of it in the message")
    func wrongCurve() {
        let pem = ES384PrivateKey().pemRepresentation
        let endpoint = APNSEndpoint(
            environment: .sandbox, key: APNSKey(pem: pem, keyID: "KEY9", teamID: "TEAM1"))
        let error = Self.problem(PushService.Configuration(apns: [endpoint]))
        #expect(error?.description == "APNs sandbox: key: the key KEY9 is not a P-256 private key in PEM (.p8)")
    }

    @Test("two credentials for the same topics are refused, and two for different ones are not")
    func twice() throws {
        func endpoint(_ topics: Set<String>?) -> APNSEndpoint {
            APNSEndpoint(environment: .sandbox, credential: .key(Self.key, topics: topics))
        }
        #expect(Self.problem(.init(apns: [endpoint(nil), endpoint(nil)]))?.field == "topics")
        let error = Self.problem(.init(apns: [endpoint(["a", "b"]), endpoint(["b", "c"])]))
        #expect(error?.description == "APNs sandbox: topics: two credentials for b: give one")
        try PushService.Configuration(apns: [endpoint(["a"]), endpoint(["b"]), endpoint(nil)]).check()
        #expect(
            Self.problem(
                {
                    var configuration = PushService.Configuration(apns: [endpoint(nil)])
                    configuration.mapsIOSAlerts = true
                    return configuration
                }())?.field == "maps_ios_alerts")
    }

    @Test("a push takes the credential of its topic, then the one that is for all, and else says what is covered")
    func routing() async throws {
        let first = try await PushTestServer { _, _ in .respond(200) }
        let second = try await PushTestServer { _, _ in .respond(200) }
        let trust = try await APNSEndpoint.test(port: 1).trust
        func endpoint(_ server: PushTestServer, _ topics: Set<String>?) -> APNSEndpoint {
            APNSEndpoint(
                environment: .sandbox, host: "127.0.0.1", port: server.port, credential: .key(Self.key, topics: topics),
                trust: trust)
        }
        func token(_ topic: String) -> PushToken {
            PushToken(provider: .apns, kind: .voip, environment: .sandbox, topic: topic, token: "00")
        }
        let fixture = try await Fixture(port: 1) {
            $0.apns = [endpoint(first, nil), endpoint(second, ["b.voip"])]
        }
        try fixture.service.start()
        for (number, topic) in [(UInt64(1), "b.voip"), (2, "a.voip")] {
            var order = try Fixture.order(number)
            order.token = token(topic)
            #expect(try await fixture.send(order) == .accepted)
        }
        await fixture.service.stop()
        var atFirst = first.requests.makeAsyncIterator()
        var atSecond = second.requests.makeAsyncIterator()
        #expect(await atFirst.next()?.request.first("apns-topic") == "a.voip")
        #expect(await atSecond.next()?.request.first("apns-topic") == "b.voip")

        let limited = try await Fixture(port: 1) {
            $0.apns = [endpoint(first, ["c.voip", "a.voip"])]
            $0.credentialsHint = "hint"
        }
        try limited.service.start()
        var order = try Fixture.order(3)
        order.token = token("b.voip")
        let reason = "the APNs credentials for sandbox cover a.voip, c.voip, not b.voip: hint"
        #expect(try await limited.outcome(queueing: order) == .unsent(reason: reason))
        await limited.service.stop()
        await first.stop()
        await second.stop()
    }

    @Test("a service account is refused with file and field, and without a word of its key")
    func serviceAccount() async throws {
        let certificates = try await PushTestCertificates.shared.value
        let good = try certificates.serviceAccount(port: 1)
        #expect(try FCMServiceAccount(json: good).project == "example-1")
        func error(_ json: String) -> PushConfigurationError? {
            #expect(throws: PushConfigurationError.self) { try FCMServiceAccount(json: json, source: "fcm.json") }
        }
        func changed(_ field: String, _ value: String?) throws -> String {
            var object = try #require(
                try JSONSerialization.jsonObject(with: Data(good.utf8)) as? [String: String])
            object[field] = value
            return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
        }
        for field in ["project_id", "client_email", "private_key", "token_uri"] {
            #expect(error(try changed(field, nil))?.description == "fcm.json: \(field): is missing")
            #expect(error(try changed(field, ""))?.field == field)
        }
        let words = error(try changed("private_key", "secret-stuff"))
        #expect(words?.description == "fcm.json: private_key: is not an RSA private key in PEM")
        let elliptic = error(try changed("private_key", certificates.serverKeyPEM))
        #expect(elliptic?.field == "private_key")
        #expect(error(try changed("token_uri", "http://127.0.0.1/token"))?.field == "token_uri")
        #expect(error(try changed("type", "authorized_user"))?.field == "type")
        #expect(error("AAAAabc:APA91bSECRET")?.problem.contains("server key of FCM's legacy API") == true)
        #expect(error("AAAAabc:APA91bSECRET")?.problem.contains("SECRET") == false)
        #expect(error("[]")?.problem == "this is not the JSON of a service account key")
    }

    @Test(
        "FCM's legacy hosts are refused",
        arguments: [
            "gcm-http.googleapis.com", "fcm-xmpp.googleapis.com", "fcm.googleapis.com/fcm/send",
        ])
    func legacyFCM(_ host: String) async throws {
        var endpoint = try await FCMEndpoint.test(port: 1)
        endpoint.host = host
        let error = Self.problem(PushService.Configuration(fcm: [endpoint]))
        #expect(error?.field == "host" && error?.problem.contains("use fcm.googleapis.com") == true)
    }
}
