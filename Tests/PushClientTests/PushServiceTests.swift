import CallVocabulary
import EventLoop
import Foundation
import HTTP2
import JWTKit
import Logging
import PushCore
import PushTestServer
import PushVocabulary
import Synchronization
import TLS
import TestCleanup
import Testing

@testable import PushClient

/// A push service against servers of the test's, and what it tells.
final class Fixture {
    static let key = ES256PrivateKey()

    let service: PushService
    /// Stopped with the service.
    private var servers: [PushTestServer] = []
    private var events: AsyncStream<PushEvent>.AsyncIterator

    static func now() -> Instant { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    init(
        port: UInt16, key: APNSKey? = nil, change: (inout PushService.Configuration) -> Void = { _ in },
        mint: @escaping @Sendable (PushIntent) throws -> String = { "wake-\($0.id)" }
    ) async throws {
        let certificates = try await PushTestCertificates.shared.value
        let key = key ?? APNSKey(pem: Self.key.pemRepresentation, keyID: "KEY1234567", teamID: "TEAM123456")
        var configuration = PushService.Configuration(apns: [
            APNSEndpoint(
                environment: .sandbox, host: "127.0.0.1", port: port, key: key,
                trust: .certificateAuthorityPEM(certificates.authorityPEM))
        ])
        configuration.apns[0].policy.connectStagger = .milliseconds(20)
        configuration.apns[0].policy.reconnectBackoff = Backoff.Limits(base: .milliseconds(20), cap: .milliseconds(200))
        change(&configuration)
        let (stream, report) = AsyncStream.makeStream(of: PushEvent.self)
        events = stream.makeAsyncIterator()
        service = PushService(
            configuration: configuration, now: Fixture.now, mintWakeToken: mint, log: Logger(label: "push-test")
        ) { events in
            for event in events { report.yield(event) }
        }
    }

    /// A started service.
    /// - Parameter port: where it pushes to; nil for the first of `servers`.
    static func start(
        _ servers: [PushTestServer], port: UInt16? = nil,
        change: (inout PushService.Configuration) -> Void = { _ in }
    ) async throws -> Fixture {
        let fixture = try await Fixture(port: port ?? servers[0].port, change: change)
        fixture.servers = servers
        try fixture.service.start()
        return fixture
    }

    func stop() async {
        await service.stop()
        for server in servers { await server.stop() }
    }

    func next() async throws -> PushEvent {
        let event = await events.next()
        return try #require(event)
    }

    /// Queues and transmits a push, and returns what is heard after `ready`.
    func send(_ intent: PushIntent) async throws -> PushOutcome {
        service.queue(intent)
        return try await transmit(intent)
    }

    /// Transmits a push once it is ready, and returns what is heard next.
    func transmit(_ intent: PushIntent) async throws -> PushOutcome {
        #expect(try await next() == .ready(intent.id))
        service.transmit(intent.id)
        return try await outcome(of: intent.id)
    }

    /// Queues a push that is never announced, and returns its outcome.
    func outcome(queueing intent: PushIntent) async throws -> PushOutcome {
        service.queue(intent)
        return try await outcome(of: intent.id)
    }

    /// Queues a push, transmits it each time it is ready, and says how it ends.
    func settle(_ intent: PushIntent) async throws -> PushOutcome {
        service.queue(intent)
        while true {
            switch try await next() {
            case .ready(let push): service.transmit(push)
            case .outcome(_, .returned): break
            case .outcome(let push, let outcome):
                #expect(push == intent.id)
                return outcome
            }
        }
    }

    /// Transmits each push that becomes ready, until enough are accepted; returns those that became ready, in order.
    func transmitReady(until isEnough: (_ accepted: Set<PushID>) -> Bool) async throws -> [PushID] {
        var (ready, accepted): ([PushID], Set<PushID>) = ([], [])
        while !isEnough(accepted) {
            switch try await next() {
            case .ready(let push):
                ready.append(push)
                service.transmit(push)
            case .outcome(let push, let outcome):
                #expect(outcome == .accepted)
                accepted.insert(push)
            }
        }
        return ready
    }

    func outcome(of push: PushID) async throws -> PushOutcome {
        guard case .outcome(push, let outcome) = try await next() else {
            Issue.record("an outcome of \(push) was due")
            return .unknown(reason: "")
        }
        return outcome
    }

    static func order(
        _ number: UInt64 = 1, environment: PushEnvironment = .sandbox, provider: PushProvider = .apns,
        kind: PushKind = .voip, ring: Duration = .seconds(45), registeredAt: Instant? = nil
    ) throws -> PushIntent {
        PushIntent(
            id: PushID(high: 9, low: number), call: CallID(high: 8, low: number), user: try #require(Handle("bob")),
            device: DeviceID(high: 7, low: 7),
            token: PushToken(
                provider: provider, kind: kind, environment: environment, topic: "org.example.phone.voip",
                token: "00112233445566778899aabbccddeeff"),
            from: try #require(Handle("alice")), fromName: "Alice", video: false, custom: nil,
            expiresAt: now() + ring, tokenRegisteredAt: registeredAt)
    }
}

private struct ProviderClaims: JWTPayload {
    let iss: String
    let iat: Int64

    func verify(using _: some JWTAlgorithm) {}
}

@Suite("The push service against a real HTTP/2 server", .timeLimit(.minutes(5)))
struct PushServiceTests {
    @Test("a push waits for the core's word, and reaches APNs with its headers, payload and a valid provider token")
    func accepted() async throws {
        let server = try await PushTestServer { _, _ in .respond(200) }
        let fixture = try await Fixture.start([server])
        var intent = try Fixture.order()
        let decidedAt = Fixture.now() + .milliseconds(-40)
        intent.decidedAt = decidedAt
        #expect(try await fixture.send(intent) == .accepted)
        let acceptedAt = Fixture.now()
        var seen = server.requests.makeAsyncIterator()
        let request = try #require(await seen.next()).request
        #expect(request.method == "POST")
        #expect(request.path == "/3/device/00112233445566778899aabbccddeeff")
        #expect(request.first("apns-topic") == "org.example.phone.voip")
        #expect(request.first("apns-push-type") == "voip")
        #expect(request.first("apns-priority") == "10")
        #expect(request.first("apns-id") == intent.id.description)
        #expect(request.first("apns-expiration") == String(intent.expiresAt.wholeSeconds))
        // nghttp2 1.52 keeps authorization out of the tables as well, whatever it is told.
        let unindexed = Set(request.fields.filter(\.isSensitive).map(\.name))
        #expect(unindexed.subtracting(["authorization"]) == ["apns-expiration", "apns-id"])
        let object = try JSONSerialization.jsonObject(with: Data(request.body))
        let body = try #require(object as? [String: Any])
        #expect(body["uuid"] as? String == intent.call.description)
        #expect(body["handle"] as? String == "alice")
        #expect(body["wake_token"] as? String == "wake-\(intent.id)")
        let bearer = try #require(request.first("authorization"))
        try #require(bearer.hasPrefix("bearer "))
        let keys = JWTKeyCollection()
        await keys.add(ecdsa: Fixture.key.publicKey, kid: "KEY1234567")
        let claims = try await keys.verify(String(bearer.dropFirst(7)), as: ProviderClaims.self)
        #expect(claims.iss == "TEAM123456")
        #expect(abs(claims.iat - Fixture.now().wholeSeconds) < 60)
        await fixture.stop()
        let pool = try #require(fixture.service.statistics.pools.first)
        #expect(pool.counters.accepted == 1)
        #expect(pool.counters.tokensSigned == 1)
        #expect(pool.streamsInFlight == 0)
        #expect(pool.timeToWire.count == 1)
        #expect(.milliseconds(40)...(acceptedAt - decidedAt) ~= pool.timeToWire.total)
    }

    @Test("a push that is dropped never reaches APNs, and one provider token serves them all")
    func dropped() async throws {
        let server = try await PushTestServer { _, _ in .respond(200) }
        let fixture = try await Fixture.start([server])
        var first = try Fixture.order(1)
        first.decidedAt = Fixture.now()
        fixture.service.queue(first)
        #expect(try await fixture.next() == .ready(first.id))
        fixture.service.drop(first.id)
        let second = try Fixture.order(2)
        #expect(try await fixture.send(second) == .accepted)
        #expect(try await fixture.send(try Fixture.order(3)) == .accepted)
        var seen = server.requests.makeAsyncIterator()
        let requests = [await seen.next(), await seen.next()].compactMap { $0?.request }
        #expect(requests[0].first("apns-id") == second.id.description)
        #expect(requests[0].first("authorization") == requests[1].first("authorization"))
        await fixture.stop()
        #expect(fixture.service.statistics.pools.first?.counters.sent == 2)
        // Nobody decided on the two that were sent.
        #expect(fixture.service.statistics.pools.first?.timeToWire.count == 0)
    }

    @Test("an answer whose end never comes counts by its status when time is up")
    func statusAlone() async throws {
        let server = try await PushTestServer { _, request in
            request == 0 ? .begin(410, #"{"reason":"Unreg"#) : request == 1 ? .begin(200, "") : .silence
        }
        let fixture = try await Fixture.start([server]) {
            $0.apns[0].policy.requestTimeout = .milliseconds(300)
        }
        #expect(try await fixture.send(try Fixture.order(1)) == .rejected(reason: "HTTP 410", isTokenDead: true))
        #expect(try await fixture.send(try Fixture.order(2)) == .accepted)
        #expect(try await fixture.send(try Fixture.order(3)) == .unknown(reason: "no answer in time"))
        await fixture.stop()
    }

    @Test("a service that closes opens no connection for the pushes that still wait")
    func closing() async throws {
        // One stream each: two pushes take them and keep them, the last one waits.
        let server = try await PushTestServer(streamLimit: 1) { _, request in
            request == 0 ? .respond(200) : .silence
        }
        let fixture = try await Fixture.start([server]) {
            $0.stopGrace = .milliseconds(1)
            $0.apns[0].policy.connections = 2
            $0.apns[0].policy.connectStagger = .milliseconds(1)
        }
        #expect(try await fixture.send(try Fixture.order(1)) == .accepted)
        let silent = [try Fixture.order(2), try Fixture.order(3)]
        for intent in silent {
            fixture.service.queue(intent)
            #expect(try await fixture.next() == .ready(intent.id))
            fixture.service.transmit(intent.id)
        }
        fixture.service.queue(try Fixture.order(4))
        let service = fixture.service
        await eventually("the last push waits beside those on the wire") {
            service.statistics.pools.first.map { $0.queueDepth == 1 && $0.streamsInFlight == 2 } ?? false
        }
        await service.stop()
        for intent in silent {
            let outcome = try await fixture.outcome(of: intent.id)
            guard case .unknown = outcome else {
                Issue.record("what was on the wire ends as unknown, not as \(outcome)")
                continue
            }
        }
        #expect(await server.connections() == 2)
        await fixture.stop()
    }

    @Test("a 410 kills the token when it dates from after the registration", arguments: [(999, true), (1001, false)])
    func gone(_ row: (registered: Int64, isDead: Bool)) async throws {
        let server = try await PushTestServer { _, _ in
            .respond(410, "{\"reason\":\"Unregistered\",\"timestamp\":1000}")
        }
        let fixture = try await Fixture.start([server])
        let intent = try Fixture.order(registeredAt: Instant(milliseconds: row.registered))
        #expect(try await fixture.send(intent) == .rejected(reason: "Unregistered", isTokenDead: row.isDead))
        await fixture.stop()
    }

    @Test("a 503 is tried once more on another connection with the same apns-id, after another look of the core")
    func serverError() async throws {
        let server = try await PushTestServer { _, request in
            request == 0 ? .respond(503, "{\"reason\":\"ServiceUnavailable\"}") : .respond(200)
        }
        let fixture = try await Fixture.start([server])
        let intent = try Fixture.order()
        #expect(try await fixture.send(intent) == .returned)
        #expect(try await fixture.transmit(intent) == .accepted)
        var seen = server.requests.makeAsyncIterator()
        let first = try #require(await seen.next())
        let second = try #require(await seen.next())
        #expect(first.connection != second.connection)
        #expect(first.request.first("apns-id") == second.request.first("apns-id"))
        await fixture.stop()
    }

    @Test(
        "a refused stream and a GOAWAY that leaves it out bring the push back",
        arguments: [
            PushTestServer.Reaction.refuse, .goAway(lastStream: 0),
        ])
    func returned(_ reaction: PushTestServer.Reaction) async throws {
        let server = try await PushTestServer { _, request in request == 0 ? reaction : .respond(200) }
        let fixture = try await Fixture.start([server])
        let intent = try Fixture.order()
        #expect(try await fixture.send(intent) == .returned)
        #expect(try await fixture.transmit(intent) == .accepted)
        await fixture.stop()
    }

    @Test("a connection that sends one GOAWAY after the other is closed")
    func goAways() async throws {
        let server = try await PushTestServer { _, request in request == 0 ? .goAways(20) : .respond(200) }
        let fixture = try await Fixture.start([server])
        guard case .unknown = try await fixture.send(try Fixture.order(1)) else {
            Issue.record("unknown was due")
            return
        }
        #expect(fixture.service.statistics.pools.first?.counters.goAways == 8)
        #expect(try await fixture.send(try Fixture.order(2)) == .accepted)
        await fixture.stop()
    }

    @Test(
        "a connection lost under a request, and an answer that never comes, leave the outcome unknown",
        arguments: [
            PushTestServer.Reaction.hangUp, .silence,
        ])
    func unknown(_ reaction: PushTestServer.Reaction) async throws {
        let server = try await PushTestServer { _, request in request == 0 ? reaction : .respond(200) }
        let fixture = try await Fixture.start([server]) {
            $0.apns[0].policy.requestTimeout = .milliseconds(300)
        }
        guard case .unknown = try await fixture.send(try Fixture.order(1)) else {
            Issue.record("unknown was due")
            return
        }
        #expect(try await fixture.send(try Fixture.order(2)) == .accepted)
        await fixture.stop()
    }

    @Test("with nobody listening the push is never announced, and ends unsent with its ring time")
    func connectionRefused() async throws {
        let fixture = try await Fixture.start([], port: try freePort())
        let intent = try Fixture.order(ring: .seconds(3))
        #expect(try await fixture.outcome(queueing: intent) == .unsent(reason: "expired"))
        await fixture.service.stop()
        let counters = try #require(fixture.service.statistics.pools.first).counters
        #expect(counters.sent == 0)
        #expect(counters.connectionsFailed >= 2)
    }

    @Test("a server that the trusted authority has not signed is not pushed to")
    func untrusted() async throws {
        let server = try await PushTestServer { _, _ in .respond(200) }
        let fixture = try await Fixture.start([server]) { $0.apns[0].trust = .system }
        let intent = try Fixture.order(ring: .milliseconds(400))
        #expect(try await fixture.outcome(queueing: intent) == .unsent(reason: "expired"))
        await fixture.stop()
    }

    @Test("what there is no way to send is unsent at once, with the reason")
    func noWay() async throws {
        let fixture = try await Fixture(port: 1, change: { $0.credentialsHint = "set the key" })
        try fixture.service.start()
        let production = try Fixture.order(1, environment: .production)
        let reason = "no APNs credentials for production: set the key"
        #expect(try await fixture.outcome(queueing: production) == .unsent(reason: reason))
        let data = try Fixture.order(2, provider: .fcm, kind: .data)
        #expect(try await fixture.outcome(queueing: data) == .unsent(reason: "no FCM credentials: set the key"))
        await fixture.service.stop()
        #expect(fixture.service.statistics.refused == 2)
    }

    @Test("a credential that APNs keeps refusing is in the statistics, until a push gets through")
    func credentialRefused() async throws {
        let server = try await PushTestServer { _, request in
            // Each push twice.
            request < 6 ? .respond(403, "{\"reason\":\"InvalidProviderToken\"}") : .respond(200)
        }
        let fixture = try await Fixture.start([server]) {
            $0.apns[0].policy.circuitBackoff = Backoff.Limits(base: .zero, cap: .zero)
            $0.apns[0].policy.connectStagger = .zero
        }
        for number in UInt64(1)...3 {
            let outcome = try await fixture.settle(try Fixture.order(number))
            #expect(outcome == .rejected(reason: "InvalidProviderToken", isTokenDead: false))
            let credential = try #require(fixture.service.statistics.pools.first).credential
            #expect(credential.failures == Int(number))
            #expect(credential.cause == .refused(reason: "InvalidProviderToken"))
            #expect((credential.problem == nil) == (number < 3))
        }
        #expect(try await fixture.settle(try Fixture.order(4)) == .accepted)
        #expect(fixture.service.statistics.pools.first?.credential == CredentialHealth())
        await fixture.stop()
    }

    @Test("a push whose wake token cannot be made is unsent")
    func noWakeToken() async throws {
        struct NoKey: Error {}
        let fixture = try await Fixture(port: 1, mint: { _ in throw NoKey() })
        try fixture.service.start()
        let intent = try Fixture.order()
        #expect(try await fixture.outcome(queueing: intent) == .unsent(reason: "no wake token: NoKey()"))
        await fixture.service.stop()
    }

    @Test("a mailbox and a queue that are too small lose no push: each has its ready or its outcome")
    func overload() async throws {
        let server = try await PushTestServer { _, _ in .respond(200) }
        let fixture = try await Fixture.start([server]) {
            $0.mailboxCapacity = 2
            $0.apns[0].policy.queueCapacity = 10
        }
        let orders = try (1...500 as ClosedRange<UInt64>).map { try Fixture.order($0) }
        for intent in orders { fixture.service.queue(intent) }
        var open = Set(orders.map(\.id))
        var accepted = 0
        var refused = 0
        while !open.isEmpty {
            switch try await fixture.next() {
            case .ready(let push): fixture.service.transmit(push)
            case .outcome(let push, let outcome):
                if outcome == .accepted { accepted += 1 }
                if outcome == .unsent(reason: "push queue full") { refused += 1 }
                #expect(open.remove(push) != nil)
            }
        }
        #expect(accepted + refused == 500)
        #expect(accepted > 0)
        #expect(refused > 0)
        await fixture.stop()
    }

    @Test("many pushes at once give way to what else happens on the loop, which goes on when the service has stopped")
    func sharedLoop() async throws {
        let minted = Mutex(0)
        let (mintedInATurn, report) = AsyncStream.makeStream(of: Int.self)
        let loop = try EventLoop(name: "shared")
        let server = try await PushTestServer { _, _ in .respond(200) }
        let fixture = try await Fixture(port: server.port) { _ in
        } mint: { _ in
            let count = minted.withLock {
                $0 += 1
                return $0
            }
            if count == 1 { loop.inNextTurn { report.yield(minted.withLock { $0 }) } }
            return "w"
        }
        loop.start()
        try fixture.service.start(on: loop)
        let orders = try (1...100 as ClosedRange<UInt64>).map { try Fixture.order($0) }
        loop.execute { [service = fixture.service] in
            for intent in orders { service.queue(intent) }
        }
        let first = await mintedInATurn.first { _ in true }
        #expect(first.map((1..<100).contains) == true)
        let ready = try await fixture.transmitReady { $0.count == orders.count }
        #expect(ready == orders.map(\.id))
        await fixture.service.stop()
        #expect(await loop.run { true } == true)
        fixture.service.queue(try Fixture.order(101))
        await loop.stopAndWait()
        #expect(minted.withLock { $0 } == 100)
        await server.stop()
    }

    @Test("pushes that are dropped before they were made ready never are, and hold up none behind them")
    func droppedUnprepared() async throws {
        let minted = Mutex(0)
        let (firstMinted, report) = AsyncStream.makeStream(of: Void.self)
        let loop = try EventLoop(name: "shared")
        let server = try await PushTestServer { _, _ in .respond(200) }
        let fixture = try await Fixture(port: server.port) { _ in
        } mint: { _ in
            minted.withLock { $0 += 1 }
            report.yield()
            return "w"
        }
        let orders = try (1...100 as ClosedRange<UInt64>).map { try Fixture.order($0) }
        try fixture.service.start(on: loop)
        // Before the loop turns: all are taken in one turn, and some of them dropped in the next.
        loop.execute { [service = fixture.service] in
            for intent in orders { service.queue(intent) }
            loop.inNextTurn { for intent in orders.dropFirst() { service.drop(intent.id) } }
        }
        loop.start()
        _ = await firstMinted.first { _ in true }
        let last = try Fixture.order(101)
        fixture.service.queue(last)
        let ready = try await fixture.transmitReady { $0.contains(last.id) }
        await fixture.service.stop()
        await loop.stopAndWait()
        #expect(ready.first == orders[0].id && ready.last == last.id)
        #expect((2..<100).contains(minted.withLock { $0 }))
        await server.stop()
    }

    @Test("stopping waits for answers up to the grace, and leaves what is still open unknown")
    func stopping() async throws {
        let server = try await PushTestServer { _, _ in .silence }
        let fixture = try await Fixture.start([server]) { $0.stopGrace = .milliseconds(100) }
        let intent = try Fixture.order()
        fixture.service.queue(intent)
        #expect(try await fixture.next() == .ready(intent.id))
        fixture.service.transmit(intent.id)
        var seen = server.requests.makeAsyncIterator()
        #expect(await seen.next() != nil)
        await fixture.service.stop()
        #expect(try await fixture.outcome(of: intent.id) == .unknown(reason: "connection lost: the server stops"))
        await fixture.stop()
    }

    @Test("what the core clears while the service stops is given back, not sent")
    func clearedWhileStopping() async throws {
        let server = try await PushTestServer { _, _ in .respond(200) }
        let authority = try await PushTestCertificates.shared.value.authorityPEM
        let endpoint = APNSEndpoint(
            environment: .sandbox, host: "127.0.0.1", port: server.port,
            key: APNSKey(pem: Fixture.key.pemRepresentation, keyID: "K", teamID: "T"),
            trust: .certificateAuthorityPEM(authority))
        let parts = try PushRoute(endpoint)
        let loop = try EventLoop(name: "push-test")
        loop.start()
        let (stream, report) = AsyncStream.makeStream(of: PushEvent.self)
        let intent = try Fixture.order()
        let made = await loop.run {
            let dispatcher = PushDispatcher(
                configuration: PushService.Configuration(apns: [endpoint]), loop: loop, mintWakeToken: { _ in "w" },
                now: Fixture.now, log: Logger(label: "push-test")
            ) { events, _ in
                for event in events { report.yield(event) }
            }
            dispatcher.add(parts)
            dispatcher.receive(.queue(PushPreparation.Job(intent: intent, mapped: nil)))
            return LoopBound(dispatcher, on: loop)
        }
        let dispatcher = try #require(made)
        var events = stream.makeAsyncIterator()
        #expect(await events.next() == .ready(intent.id))
        await loop.run {
            dispatcher.value.stop {}
            dispatcher.value.receive(.transmit(intent.id))
            dispatcher.value.receive(.transmit(intent.id))
            dispatcher.value.close()
        }
        report.finish()
        #expect(await events.next() == .outcome(intent.id, .returned))
        #expect(await events.next() == nil)
        await loop.stopAndWait()
        await server.stop()
    }

    @Test("a key that is none is refused at the start, without a word of it in the message")
    func badKey() async throws {
        let fixture = try await Fixture(port: 1, key: APNSKey(pem: "secret-stuff", keyID: "K", teamID: "T"))
        let error = #expect(throws: PushConfigurationError.self) { try fixture.service.start() }
        #expect(error?.description.contains("secret") == false)
        #expect(error?.source == "APNs sandbox" && error?.field == "key")
    }
}

/// Waits until `condition` holds, giving way to other threads; records an issue when it does not in forty seconds.
func eventually(_ what: Comment, _ condition: () async -> Bool) async {
    let deadline = ContinuousClock.now + .seconds(40)
    while await !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what)
            return
        }
        await Task.yield()
    }
}
