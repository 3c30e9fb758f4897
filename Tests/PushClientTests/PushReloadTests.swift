import CallVocabulary
import Foundation
import HTTP2
import JWTKit
import Logging
import PushCore
import PushTestServer
import PushVocabulary
import TestCleanup
import Testing

@testable import PushClient

@Suite("A push service that is given another configuration", .timeLimit(.minutes(5)))
struct PushReloadTests {
    /// The key a request was signed with, by the header of its token.
    private func keyID(_ request: HTTP2ServerRequest) throws -> String? {
        let token = try #require(request.first("authorization")).dropFirst("bearer ".count)
        var head = token.prefix { $0 != "." }.replacingOccurrences(of: "-", with: "+").replacingOccurrences(
            of: "_", with: "/")
        while !head.count.isMultiple(of: 4) { head += "=" }
        let object = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: head)))
        return (object as? [String: Any])?["kid"] as? String
    }

    private func configuration(
        _ port: UInt16, keyID: String = "NEWKEY1234", topics: Set<String>? = nil
    ) async throws -> PushService.Configuration {
        var endpoint = try await APNSEndpoint.test(port: port)
        endpoint.credential = .key(
            APNSKey(pem: Fixture.key.pemRepresentation, keyID: keyID, teamID: "TEAM123456"), topics: topics)
        endpoint.policy.connectStagger = .milliseconds(20)
        return PushService.Configuration(apns: [endpoint])
    }

    /// A service with a push that waits for a connection to a port where nobody listens.
    /// - Parameter servers: stopped with the service.
    private func waiting(
        beside servers: PushTestServer...
    ) async throws -> (fixture: Fixture, order: PushIntent, port: UInt16) {
        let port = try freePort()
        let fixture = try await Fixture.start(servers, port: port)
        let order = try Fixture.order()
        fixture.service.queue(order)
        await eventually("it waits") { fixture.service.statistics.pools.first?.queueDepth == 1 }
        return (fixture, order, port)
    }

    @Test("signs with the new key from then on, on a new connection")
    func newKey() async throws {
        let server = try await PushTestServer { _, _ in .respond(200) }
        let fixture = try await Fixture.start([server])
        #expect(try await fixture.send(Fixture.order(1)) == .accepted)
        try await fixture.service.reload(PushService.Reload(configuration(server.port)))
        #expect(try await fixture.send(Fixture.order(2)) == .accepted)
        var seen = server.requests.makeAsyncIterator()
        let (old, new) = (try #require(await seen.next()), try #require(await seen.next()))
        #expect(try keyID(old.request) == "KEY1234567" && keyID(new.request) == "NEWKEY1234")
        #expect(new.connection > old.connection)
        #expect(fixture.service.statistics.pools.map(\.credentialName) == ["NEWKEY1234"])
        await fixture.stop()
    }

    @Test("leaves a credential alone that is the same: no new token, no new connection")
    func sameKey() async throws {
        let server = try await PushTestServer { _, _ in .respond(200) }
        var same = try await configuration(server.port)
        // A pool opens a second connection when the first is slow.
        same.apns[0].policy.connectStagger = .seconds(60)
        let settings = same
        let fixture = try await Fixture.start([server]) { $0 = settings }
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(try await fixture.send(Fixture.order(number)) == .accepted)
            try await fixture.service.reload(PushService.Reload(settings))
        }
        let connections = await server.connections()
        #expect(connections == 1)
        #expect(fixture.service.statistics.pools[0].counters.tokensSigned == 1)
        await fixture.stop()
    }

    @Test("sends what waited with the key that is right, and the circuit that the wrong one opened is closed")
    func rightKey() async throws {
        let wrong = "KEY1234567"
        let server = try await PushTestServer { request in
            (try? self.keyID(request)) == wrong
                ? .respond(403, #"{"reason":"InvalidProviderToken"}"#) : .respond(200)
        }
        let fixture = try await Fixture.start([server]) {
            $0.apns[0].policy.connectStagger = .zero
            $0.apns[0].policy.circuitBackoff = Backoff.Limits(base: .seconds(60), cap: .seconds(60))
            $0.apns[0].policy.circuitPatience = .milliseconds(50)
        }
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(
                try await fixture.settle(Fixture.order(number))
                    == .rejected(reason: "InvalidProviderToken", isTokenDead: false))
        }
        let refused = PushOutcome.unsent(reason: "circuit open: InvalidProviderToken")
        #expect(try await fixture.outcome(queueing: Fixture.order(4)) == refused)
        try await fixture.service.reload(PushService.Reload(configuration(server.port)))
        #expect(try await fixture.send(Fixture.order(5)) == .accepted)
        #expect(fixture.service.statistics.pools[0].circuit == .closed)
        await fixture.stop()
    }

    @Test("goes elsewhere with what waited where nobody listened")
    func newHost() async throws {
        let server = try await PushTestServer { _, _ in .respond(200) }
        let (fixture, order, _) = try await waiting(beside: server)
        try await fixture.service.reload(PushService.Reload(configuration(server.port, keyID: "KEY1234567")))
        #expect(try await fixture.transmit(order) == .accepted)
        await fixture.stop()
    }

    @Test("ends what waits for a credential that is gone, as if there had never been one; takes up one that is new")
    func goneAndNew() async throws {
        let server = try await PushTestServer { request in
            request.path.hasPrefix("/token")
                ? .respond(200, #"{"access_token":"t","expires_in":3600}"#) : .respond(200, "{}")
        }
        let (fixture, order, _) = try await waiting(beside: server)
        var configuration = PushService.Configuration(fcm: [try await .test(port: server.port)])
        configuration.credentialsHint = "set apns"
        await fixture.service.reload(try PushService.Reload(configuration))
        let noWay = PushOutcome.unsent(reason: "no APNs credentials for sandbox: set apns")
        #expect(try await fixture.outcome(of: order.id) == noWay)
        #expect(try await fixture.outcome(queueing: Fixture.order(2)) == noWay)
        await eventually("only FCM is left") { fixture.service.statistics.pools.map(\.provider) == [.fcm] }
        await fixture.service.reload(try PushService.Reload(await self.configuration(server.port)))
        #expect(try await fixture.send(Fixture.order(3)) == .accepted)
        await eventually("only APNs is left") { fixture.service.statistics.pools.map(\.provider) == [.apns] }
        await fixture.stop()
    }

    @Test("ends what waits for a topic that the new credential is not for, and keeps the rest")
    func topics() async throws {
        let (fixture, order, gone) = try await waiting()
        try await fixture.service.reload(
            PushService.Reload(configuration(gone, topics: ["org.example.phone.voip", "org.example.other"])))
        #expect(fixture.service.statistics.pools.map(\.queueDepth) == [1])
        try await fixture.service.reload(
            PushService.Reload(configuration(gone, topics: ["org.example.other"])))
        #expect(
            try await fixture.outcome(of: order.id)
                == .unsent(
                    reason: "the APNs credentials for sandbox cover org.example.other, not org.example.phone.voip: "
                        + "configure credentials for it"))
        await fixture.service.stop()
    }

    @Test("a configuration that cannot work is refused before anything changes")
    func refused() async throws {
        let server = try await PushTestServer { _, _ in .respond(200) }
        let fixture = try await Fixture.start([server])
        var bad = try await configuration(server.port)
        bad.apns[0].credential = .key(APNSKey(pem: "secret-stuff", keyID: "K", teamID: "T"))
        let error = #expect(throws: PushConfigurationError.self) { _ = try PushService.Reload(bad) }
        #expect(error?.field == "key" && error?.description.contains("secret") == false)
        #expect(try await fixture.send(Fixture.order()) == .accepted)
        await fixture.stop()
    }

    @Test("pairs what was there with what is to be by its topics")
    func succession() async throws {
        func route(_ topics: Set<String>?, _ environment: PushEnvironment = .sandbox) async throws -> PushRoute {
            var endpoint = try await configuration(1, topics: topics).apns[0]
            endpoint.environment = environment
            return try PushRoute(endpoint)
        }
        let (all, one, two) = (try await route(nil), try await route(["a"]), try await route(["b"]))
        let (both, production) = (try await route(["a", "b"]), try await route(nil, .production))
        #expect(PushSuccession.pair([all, one], with: [one, all]) == [0: 1, 1: 0])
        #expect(PushSuccession.pair([both], with: [two, one]) == [0: 0])
        #expect(PushSuccession.pair([one, two], with: [both]) == [0: 0])
        #expect(PushSuccession.pair([all], with: [one, two]) == [0: 0])
        #expect(PushSuccession.pair([one], with: [two]) == [:])
        #expect(PushSuccession.pair([all], with: [production]) == [:])
        #expect(PushSuccession.pair([], with: [all]) == [:] && PushSuccession.pair([all], with: []) == [:])
    }
}
