import CallVocabulary
import Foundation
import HTTP2
import PushCore
import PushTestServer
import PushVocabulary
import Synchronization
import Testing

@testable import PushClient

@Suite("Web Push", .timeLimit(.minutes(5)))
struct WebPushServiceTests {
    private static let key = WebPushKey.random()
    private static let browser = WebPushTestBrowser()

    private static func order(
        _ number: UInt64 = 1, to token: PushToken, of user: String = "bob", purpose: PushPurpose = .call,
        call: UInt64? = nil, ring: Duration = .seconds(45)
    ) throws -> PushIntent {
        var intent = try Fixture.order(number, ring: ring)
        intent.user = try #require(Handle(user))
        intent.token = token
        intent.purpose = purpose
        intent.call = CallID(high: 8, low: call ?? number)
        return intent
    }

    private static func start(
        _ servers: PushTestServer..., change: (inout WebPushEndpoint) -> Void = { _ in }
    ) async throws -> Fixture {
        var endpoint = try await WebPushEndpoint.test(ports: servers.map(\.port), key: key)
        endpoint.policy.connectStagger = .milliseconds(20)
        endpoint.policy.reconnectBackoff = Backoff.Limits(base: .milliseconds(20), cap: .milliseconds(200))
        change(&endpoint)
        let settings = endpoint
        return try await Fixture.start(servers) { $0 = PushService.Configuration(webPush: settings) }
    }

    /// A push service as strict as the strictest.
    private static func strict(status: Int = 201) async throws -> PushTestServer {
        let port = Mutex<UInt16>(0)
        let server = try await PushTestServer { request in
            let fault = WebPushTestService.fault(in: request, port: port.withLock { $0 }, key: key)
            return fault.map { .respond(400, $0) } ?? .respond(status, "", [HTTPField("location", "/message/1")])
        }
        port.withLock { $0 = server.port }
        return server
    }

    @Test("a strict service takes the push, and the browser reads the call in it", arguments: [200, 201, 202])
    func accepted(status: Int) async throws {
        let server = try await Self.strict(status: status)
        let fixture = try await Self.start(server)
        let order = try Self.order(to: Self.browser.token(port: server.port, key: Self.key))
        #expect(try await fixture.send(order) == .accepted)
        var seen = server.requests.makeAsyncIterator()
        let request = try #require(await seen.next()).request
        #expect(request.path == "/push/abc")
        #expect(request.first("urgency") == "high")
        let call = try Self.browser.object(request.body)
        #expect(call["uuid"] as? String == order.call.description)
        #expect(call["wake_token"] as? String == "wake-\(order.id)")
        #expect(request.first("ttl") == "\(call["expires_in"] ?? "")")
        await fixture.stop()
    }

    @Test("the missed call has the topic of the call, and no wake token")
    func replaced() async throws {
        let server = try await Self.strict()
        let fixture = try await Self.start(server)
        let token = Self.browser.token(port: server.port, key: Self.key)
        #expect(try await fixture.send(Self.order(1, to: token)) == .accepted)
        #expect(try await fixture.send(Self.order(2, to: token, purpose: .missedCall, call: 1)) == .accepted)
        #expect(try await fixture.send(Self.order(3, to: token)) == .accepted)
        var seen = server.requests.makeAsyncIterator()
        var requests: [HTTP2ServerRequest] = []
        for _ in 0..<3 { requests.append(try #require(await seen.next()).request) }
        let topics = requests.map { $0.first("topic") }
        #expect(topics[0] == topics[1] && topics[0] != topics[2])
        let notice = try Self.browser.object(requests[1].body)
        #expect(notice["type"] as? String == "missed_call" && notice["wake_token"] == nil)
        #expect(requests[1].first("urgency") == "normal")
        await fixture.stop()
    }

    @Test(
        "what the service refuses is refused: a subscription that is gone is dead, others are kept",
        arguments: [
            (404, "", "HTTP 404", true), (410, "gone", "HTTP 410: gone", true), (400, "x", "HTTP 400: x", false),
            (413, "", "HTTP 413", false), (401, "", "HTTP 401", false), (403, "", "HTTP 403", false),
            (302, "", "HTTP 302", false), (307, "", "HTTP 307", false),
        ])
    func refused(_ row: (status: Int, body: String, reason: String, isDead: Bool)) async throws {
        let server = try await PushTestServer { _ in
            .respond(row.status, row.body, [HTTPField("location", "https://127.0.0.1:1/elsewhere")])
        }
        let fixture = try await Self.start(server)
        let order = try Self.order(to: Self.browser.token(port: server.port, key: Self.key))
        #expect(
            try await fixture.settle(order) == .rejected(reason: row.reason, isTokenDead: row.isDead))
        // Not followed, and not repeated.
        #expect(fixture.service.statistics.pools[0].counters.sent == 1)
        await fixture.stop()
    }

    @Test("a push waits as long as Retry-After says, and the time to live is what is left then")
    func retryAfter() async throws {
        let server = try await PushTestServer { _, request in
            request == 0 ? .respond(429, "", [HTTPField("retry-after", "1")]) : .respond(201)
        }
        let fixture = try await Self.start(server)
        let order = try Self.order(to: Self.browser.token(port: server.port, key: Self.key), ring: .seconds(30))
        #expect(try await fixture.settle(order) == .accepted)
        var seen = server.requests.makeAsyncIterator()
        var lives: [Int] = []
        var bodies: [[UInt8]] = []
        for _ in 0..<2 {
            let request = try #require(await seen.next()).request
            lives.append(try #require(request.first("ttl").flatMap { Int($0) }))
            bodies.append(request.body)
        }
        #expect(lives[1] < lives[0])
        #expect(bodies[0].prefix(86) != bodies[1].prefix(86), "each attempt has its own salt and key")
        await fixture.stop()
    }

    @Test("a server error is retried once, on another connection")
    func serverError() async throws {
        let server = try await PushTestServer { _, request in .respond(request == 0 ? 503 : 201) }
        let fixture = try await Self.start(server)
        let order = try Self.order(to: Self.browser.token(port: server.port, key: Self.key))
        #expect(try await fixture.settle(order) == .accepted)
        var seen = server.requests.makeAsyncIterator()
        let (first, second) = (try #require(await seen.next()), try #require(await seen.next()))
        #expect(first.connection != second.connection)
        await fixture.stop()
    }

    @Test("a token that the service calls bad is signed again once, and then the credential is to blame")
    func badToken() async throws {
        let server = try await PushTestServer { _ in .respond(403, #"{"reason":"BadJwtToken"}"#) }
        let fixture = try await Self.start(server) { $0.policy.connectStagger = .zero }
        let order = try Self.order(to: Self.browser.token(port: server.port, key: Self.key))
        let outcome = PushOutcome.rejected(reason: "HTTP 403: BadJwtToken", isTokenDead: false)
        #expect(try await fixture.settle(order) == outcome)
        let pool = fixture.service.statistics.pools[0]
        #expect(pool.counters.sent == 2 && pool.credential.failures == 1)
        #expect(pool.counters.refusals["HTTP 403"] == 2)
        await fixture.stop()
    }

    @Test("each push service has a pool of its own: one that fails does not stop the others")
    func origins() async throws {
        let bad = try await PushTestServer { _ in .respond(403, "bad jwt") }
        let good = try await Self.strict()
        let fixture = try await Self.start(bad, good) { $0.policy.connectStagger = .zero }
        let (bob, carol) = (
            Self.browser.token(port: bad.port, key: Self.key), Self.browser.token(port: good.port, key: Self.key)
        )
        for number in 1...3 as ClosedRange<UInt64> {
            _ = try await fixture.settle(Self.order(number, to: bob, of: "bob\(number)"))
        }
        #expect(try await fixture.send(Self.order(5, to: carol)) == .accepted)
        let pools = fixture.service.statistics.pools
        #expect(pools.map(\.credentialName) == ["127.0.0.1:\(bad.port)", "127.0.0.1:\(good.port)"])
        #expect(pools.map(\.counters.accepted) == [0, 1])
        #expect(pools.map(\.credential.isBad) == [true, false])
        await fixture.stop()
    }

    @Test(
        "a subscription at another host, port or made with another key is not pushed to, and the reason says what to do"
    )
    func noWay() async throws {
        let server = try await Self.strict()
        let fixture = try await Self.start(server)
        func reason(_ token: PushToken) async throws -> String {
            guard case .unsent(let reason) = try await fixture.outcome(queueing: Self.order(to: token)) else {
                return ""
            }
            return reason
        }
        #expect(
            try await reason(Self.browser.token(host: "evil.example", port: server.port, key: Self.key))
                == "the push service evil.example:\(server.port) is not in push.webpush.hosts, which has "
                + "127.0.0.1:\(server.port)")
        let other = try await reason(Self.browser.token(port: 22, key: Self.key))
        #expect(other.contains("127.0.0.1:22 is not in push.webpush.hosts"))
        #expect(
            try await reason(Self.browser.token(port: server.port, key: .random()))
                == "the subscription was made with another key than the server's: the page must subscribe again")
        #expect(await server.connections() == 0)
        let token = Self.browser.token(host: "evil.example", port: 443, key: Self.key)
        let good = Self.browser.token(port: server.port, key: Self.key)
        let old = Self.browser.token(port: server.port, key: .random())
        for isUpdate in [false, true] {
            let fault = fixture.service.fault(of: token, isUpdate: isUpdate)
            #expect(fault?.expected.contains("push.webpush.hosts") == true)
            #expect(fixture.service.fault(of: good, isUpdate: isUpdate) == nil)
            #expect(fixture.service.fault(of: old, isUpdate: isUpdate)?.member == (isUpdate ? .topic : nil))
        }
        await fixture.stop()
    }

    @Test("there are at most so many push services at a time: a push to one more has no way until one is idle")
    func bound() async throws {
        let server = try await Self.strict()
        let ports = (1...UInt16(WebPushEndpoint.mostOrigins) + 1).map { $0 }
        let hosts = ports.compactMap { WebPushHost("127.0.0.1:\($0)") }
        // Nobody listens there.
        let fixture = try await Self.start(server) { $0.hosts = hosts }
        let orders = try ports.map { port in
            try Self.order(UInt64(port), to: Self.browser.token(port: port, key: Self.key))
        }
        for order in orders.dropLast() { fixture.service.queue(order) }
        func waiting() -> Int { fixture.service.statistics.pools.reduce(0) { $0 + $1.queueDepth } }
        await eventually("they wait") { waiting() == WebPushEndpoint.mostOrigins }
        let last = orders[orders.count - 1]
        guard case .unsent(let reason) = try await fixture.outcome(queueing: last) else {
            Issue.record("there is no room")
            return
        }
        #expect(reason.contains("as are tried at a time"))
        fixture.service.drop(orders[7].id)
        await eventually("one is dropped") { waiting() == WebPushEndpoint.mostOrigins - 1 }
        fixture.service.queue(last)
        await eventually("the last one waits") { waiting() == WebPushEndpoint.mostOrigins }
        #expect(fixture.service.statistics.pools[7].counters.dropped == 1, "what a closed pool has counted is kept")
        #expect(fixture.service.statistics.pools[64].queueDepth == 1)
        await fixture.stop()
    }

    /// A service with a pattern below which no name exists (RFC 6761), and a queue of 80.
    private static func startWithPattern(_ server: PushTestServer) async throws -> Fixture {
        try await start(server) {
            $0.hosts += [WebPushHost("*.push.invalid")].compactMap { $0 }
            $0.policy.queueCapacity = 80
        }
    }

    private static func order(_ number: UInt64, host: String, of user: String) throws -> PushIntent {
        try order(number, to: browser.token(host: host, port: 443, key: key), of: user)
    }

    @Test("names that devices invent below a pattern take a few pools and a part of the queue, and no other's place")
    func invented() async throws {
        let server = try await Self.strict()
        let fixture = try await Self.startWithPattern(server)
        let real = Self.browser.token(port: server.port, key: Self.key)
        #expect(try await fixture.send(Self.order(1000, to: real)) == .accepted)
        for number in 1...UInt64(WebPushEndpoint.mostUnproven) {
            fixture.service.queue(try Self.order(number, host: "a\(number).push.invalid", of: "u\(number)"))
        }
        #expect(
            try await fixture.outcome(queueing: Self.order(100, host: "b.push.invalid", of: "u100"))
                == .unsent(reason: "pushes wait for as many push services as are tried at a time"))
        // An eighth of the queue: ten, of which eight wait.
        for number in 101...102 as ClosedRange<UInt64> {
            fixture.service.queue(try Self.order(number, host: "a1.push.invalid", of: "u\(number)"))
        }
        #expect(
            try await fixture.outcome(queueing: Self.order(103, host: "a2.push.invalid", of: "u103"))
                == .unsent(reason: "push queue full"))
        #expect(try await fixture.send(Self.order(1001, to: real)) == .accepted)
        await fixture.stop()
    }

    @Test("names that one user's devices invent leave as many pools, and as much of their queue, for the others")
    func inventedByOne() async throws {
        let server = try await Self.strict()
        let fixture = try await Self.startWithPattern(server)
        let half = UInt64(WebPushEndpoint.mostUnproven / 2)
        for number in 1...half {
            fixture.service.queue(try Self.order(number, host: "a\(number).push.invalid", of: "mallory"))
        }
        #expect(
            try await fixture.outcome(queueing: Self.order(20, host: "b.push.invalid", of: "mallory"))
                == .unsent(reason: "pushes wait for as many push services as are tried at a time"))
        // Of the ten pushes that may wait for such services, mallory has four, then five.
        fixture.service.queue(try Self.order(21, host: "a1.push.invalid", of: "mallory"))
        #expect(
            try await fixture.outcome(queueing: Self.order(22, host: "a1.push.invalid", of: "mallory"))
                == .unsent(reason: "push queue full"))
        fixture.service.queue(try Self.order(30, host: "c.push.invalid", of: "alice"))
        await eventually("the push of alice waits too") {
            fixture.service.statistics.pools.reduce(0) { $0 + $1.queueDepth } == 6
        }
        await fixture.stop()
    }

    @Test("without Web Push a subscription has no way, and without its key", arguments: [false, true])
    func unconfigured(hasSubject: Bool) async throws {
        let fixture = try await Fixture.start([try await PushTestServer { _ in .respond(200) }]) {
            $0.credentialsHint = "set a subject"
            if hasSubject { $0.webPush = WebPushEndpoint(key: nil, subject: "mailto:a@b.example") }
        }
        let token = Self.browser.token(port: 1, key: Self.key)
        #expect(
            try await fixture.outcome(queueing: Self.order(to: token)) == .unsent(reason: "no Web Push: set a subject"))
        #expect(fixture.service.applicationServerKey == nil)
        #expect(fixture.service.fault(of: token, isUpdate: false) == nil)
        #expect(fixture.service.fault(of: token, isUpdate: true)?.expected.contains("push.webpush.subject") == true)
        await fixture.stop()
    }

    @Test("a reload ends what waits for a host that is no longer listed, or was subscribed with another key")
    func reload() async throws {
        let gone = try await PushTestServer { _ in .respond(201) }
        let server = try await Self.strict()
        await gone.stop()
        let fixture = try await Self.start(server, change: { _ in })
        var endpoint = try await WebPushEndpoint.test(ports: [gone.port, server.port], key: Self.key)
        try await fixture.service.reload(PushService.Reload(PushService.Configuration(webPush: endpoint)))
        let order = try Self.order(1, to: Self.browser.token(port: gone.port, key: Self.key))
        fixture.service.queue(order)
        await eventually("it waits") { fixture.service.statistics.pools.contains { $0.queueDepth == 1 } }
        endpoint.hosts.removeFirst()
        try await fixture.service.reload(PushService.Reload(PushService.Configuration(webPush: endpoint)))
        guard case .unsent(let reason) = try await fixture.outcome(of: order.id) else {
            Issue.record("it is not sent")
            return
        }
        #expect(reason.contains("is not in push.webpush.hosts"))
        endpoint.key = .random()
        try await fixture.service.reload(PushService.Reload(PushService.Configuration(webPush: endpoint)))
        #expect(fixture.service.applicationServerKey == endpoint.key?.applicationServerKey)
        let old = try Self.order(2, to: Self.browser.token(port: server.port, key: Self.key))
        guard case .unsent(let other) = try await fixture.outcome(queueing: old) else {
            Issue.record("it is not sent")
            return
        }
        #expect(other.contains("another key"))
        await fixture.stop()
    }

    @Test("after a reload with another key its subscriptions are pushed to, with its token on a new connection")
    func newKey() async throws {
        let keys = Mutex((current: Self.key, port: UInt16(0)))
        let server = try await PushTestServer { request in
            let (key, port) = keys.withLock { $0 }
            let fault = WebPushTestService.fault(in: request, port: port, key: key)
            return fault.map { .respond(400, $0) } ?? .respond(201)
        }
        keys.withLock { $0.port = server.port }
        let fixture = try await Self.start(server)
        let token = Self.browser.token(port: server.port, key: Self.key)
        #expect(try await fixture.send(Self.order(1, to: token)) == .accepted)
        let endpoint = try await WebPushEndpoint.test(ports: [server.port])
        let key = try #require(endpoint.key)
        keys.withLock { $0.current = key }
        try await fixture.service.reload(PushService.Reload(PushService.Configuration(webPush: endpoint)))
        let other = Self.browser.token(port: server.port, key: key)
        #expect(try await fixture.send(Self.order(2, to: other)) == .accepted)
        #expect(await server.connections() > 1)
        #expect(fixture.service.statistics.pools.map(\.counters.accepted) == [2])
        await fixture.stop()
    }
}

@Suite("The configuration of Web Push")
struct WebPushConfigurationTests {
    @Test(
        "hosts are names, or all names below one, with a port",
        arguments: [
            ("fcm.googleapis.com", "fcm.googleapis.com", 443, true),
            ("FCM.googleapis.com", "fcm.googleapis.com", 443, true),
            ("fcm.googleapis.com", "x.fcm.googleapis.com", 443, false),
            ("fcm.googleapis.com", "fcm.googleapis.com", 8443, false),
            ("fcm.googleapis.com:8443", "fcm.googleapis.com", 8443, true),
            ("*.push.apple.com", "web.push.apple.com", 443, true),
            ("*.push.apple.com", "a.b.push.apple.com", 443, true),
            ("*.push.apple.com", "push.apple.com", 443, false), ("*.push.apple.com", "evilpush.apple.com", 443, false),
            ("*.push.apple.com", "web.push.apple.com.evil.example", 443, false), ("127.0.0.1:9", "127.0.0.1", 9, true),
        ] as [(String, String, UInt16, Bool)])
    func hosts(_ row: (pattern: String, host: String, port: UInt16, isCovered: Bool)) throws {
        let pattern = try #require(WebPushHost(row.pattern))
        #expect(pattern.covers(host: row.host, port: row.port) == row.isCovered)
    }

    @Test(
        "what is no host, and patterns of too much, are none",
        arguments: [
            "", "*", "*.com", "*.", "*.*.example.com", "https://a.example", "a.example/x", "a.*.example",
            "*.0.0.1", "a:b", "a:0", "a b", "user@a.example", "[::1]", "a.example:", "a?b", "a#b",
        ])
    func noHosts(text: String) {
        #expect(WebPushHost(text) == nil)
    }

    @Test("the standard hosts are hosts")
    func standard() {
        let endpoint = WebPushEndpoint(key: nil, subject: "mailto:a@b.example")
        #expect(endpoint.hosts.map(\.description) == WebPushEndpoint.standardHosts)
    }

    @Test(
        "the push services of Chrome, Firefox and Safari take no place of those that a device may have invented",
        arguments: [
            ("fcm.googleapis.com", true), ("updates.push.services.mozilla.com", true), ("web.push.apple.com", true),
            ("x.push.services.mozilla.com", false), ("web2.push.apple.com", false), ("a.notify.windows.com", false),
        ])
    func known(host: String, isKnown: Bool) throws {
        let routes = try #require(
            try WebPushRoutes(WebPushEndpoint(key: .random(), subject: "mailto:a@b.example")))
        let route = try #require(routes.route(host: host, port: 443))
        #expect(route.isKnown == isKnown && route.isListed == (host == "fcm.googleapis.com"))
    }

    @Test("a contact is a mail address or a page")
    func subjects() {
        for subject in ["mailto:a@b.example", "https://example.org/contact"] {
            #expect(WebPushEndpoint.isSubject(subject))
        }
        for subject in [
            "", "a@b.example", "mailto:", "mailto:a", "mailto:@b", "mailto:a@", "http://a", "https://", "mailto:a b@c",
            "mailto:a@b\n", "mailto:\"a@b",
        ] {
            #expect(!WebPushEndpoint.isSubject(subject))
        }
    }

    @Test("a key is read in both forms of PEM, and is not in the error nor in a description")
    func keys() throws {
        let key = WebPushKey.random()
        #expect(try WebPushKey(pem: key.pem, source: "f") == key)
        #expect(WebPushSubscription.publicKey(key.applicationServerKey[...]) != nil)
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains("PRIVATE") && !"\(key)".contains("PRIVATE"))
        do {
            _ = try WebPushKey(pem: key.pem.replacing("M", with: "N"), source: "/etc/key")
            Issue.record("it is no key")
        } catch let error as PushConfigurationError {
            #expect(error.source == "/etc/key" && !"\(error)".contains("BEGIN"))
        }
    }

    @Test("what cannot be used is refused before anything starts")
    func faults() throws {
        func fault(_ endpoint: WebPushEndpoint) -> String? {
            do {
                _ = try PushService.Reload(PushService.Configuration(webPush: endpoint))
                return nil
            } catch {
                return (error as? PushConfigurationError)?.field
            }
        }
        let good = WebPushEndpoint(key: .random(), subject: "mailto:a@b.example")
        #expect(fault(good) == nil)
        #expect(fault(WebPushEndpoint(key: good.key, subject: "x")) == "subject")
        #expect(fault(WebPushEndpoint(key: good.key, subject: good.subject, hosts: [])) == "hosts")
        // The key may be that of the data folder.
        try PushService.Configuration(webPush: WebPushEndpoint(key: nil, subject: good.subject)).check()
    }
}

@Suite("The push services of Web Push together")
struct WebPushPoolsTests {
    private static func sum(isTrusted: Bool, _ change: (inout PushStatistics.Pool) -> Void) -> PushStatistics.Pool {
        var pool = PushStatistics.Pool(provider: .webpush, environment: .production, name: "Web Push a.example")
        change(&pool)
        var sum = PushStatistics.Pool(webPush: "*.example")
        sum.add(pool, isTrusted: isTrusted)
        return sum
    }

    @Test("what fails at a host that a device may have invented does not count for readiness, but is counted")
    func trust() {
        func failing(_ pool: inout PushStatistics.Pool) {
            pool.queueDepth = 3
            pool.counters.queued = 3
            pool.allRefusedAt = Instant(milliseconds: 1)
            pool.suspectTopics = [SuspectTopic(topic: "t", reason: "r", refusals: 3)]
            pool.circuit = .open(until: Instant(milliseconds: 1), reason: "r")
            for _ in 0..<3 { pool.credential.note(.credentialRefused(reason: "r")) }
        }
        let invented = Self.sum(isTrusted: false, failing)
        #expect(invented.lines.isEmpty && invented.circuit == .closed && invented.credential.problem == nil)
        #expect(invented.allRefusedAt == nil && invented.suspectTopics == [])
        #expect(invented.queueDepth == 3 && invented.counters.queued == 3)
        let real = Self.sum(isTrusted: true, failing)
        #expect(real.lines.map(\.waiting) == [3] && real.lines.map(\.name) == ["Web Push a.example"])
        #expect(real.circuit != .closed && real.credential.problem != nil && real.allRefusedAt != nil)
    }
}
