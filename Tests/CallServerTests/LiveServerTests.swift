import AdminKit
import AdminProtocol
import CallCore
import CallMonitor
import CallStore
import CallVocabulary
import ChildProcess
import ClientTokens
import EventJournal
import EventLoop
import Foundation
import LibWebSockets
import LogCapture
import OutgoingHTTP
import PushClient
import SoftphoneKit
import SoftphoneSession
import TestCleanup
import Testing
import WebSocketServer

@testable import AdminServer
@testable import CallServer

@Suite("Watching a whole server", .timeLimit(.minutes(5)))
struct LiveServerTests {
    private static func phone(_ user: String, at server: CallServer, _ runtime: SoftphoneRuntime) async throws
        -> Softphone
    {
        let handle = try #require(Handle(user))
        let configuration = Softphone.Configuration(
            url: "ws://\(server.address)", token: try await server.mintToken(user: handle, lifetime: .seconds(600)),
            device: DeviceDescription(id: .random(), platform: .desktop, app: "test", name: nil))
        return try Softphone(configuration: configuration, runtime: runtime) { _, _ in }
    }

    /// Weak references to the parts of a stopped server.
    private struct Ghosts {
        weak var server: CallServer?
        weak var webSockets: WebSocketServer?
        weak var admin: AdminService?
        weak var committer: AnyObject?
        weak var push: PushService?
        weak var queries: AnyObject?
        weak var adminQueries: AnyObject?
        weak var routes: HTTPRoutes?
        weak var lookUps: LookUps?
        weak var core: EventLoop?

        init(_ server: CallServer) {
            self.server = server
            webSockets = server.webSockets
            admin = server.admin
            committer = server.parts.store.recordLog as AnyObject
            push = server.parts.push
            queries = server.parts.store.queries as AnyObject
            adminQueries = server.parts.store.adminQueries as AnyObject
            routes = server.parts.routes
            lookUps = server.parts.lookUps
            core = server.parts.core.loop
        }

        var those: [String] {
            let all: [(String, AnyObject?)] = [
                ("server", server), ("webSockets", webSockets), ("admin", admin), ("committer", committer),
                ("push", push), ("queries", queries), ("adminQueries", adminQueries), ("routes", routes),
                ("lookUps", lookUps), ("core", core),
            ]
            return all.compactMap { $1 == nil ? nil : $0 }
        }
    }

    /// Where another thread takes a descriptor's number at the wrong time, libwebsockets' context stays in memory, and
    /// its loop with it (`LWSContext`).
    @Test("a stopped server is released with all its parts", .ownProcess, .cleanup, arguments: [1, 2])
    func letGo(shards: Int) async throws {
        let folder = try DataFolder.temporary()
        func run() async throws -> Ghosts {
            let server = try await CallServer.start(
                ServerConfiguration(address: .anyPort, data: folder, shards: shards), log: .none)
            let runtime = try SoftphoneRuntime()
            let alice = try await Self.phone("alice", at: server, runtime)
            _ = try await alice.connect()
            let ghosts = Ghosts(server)
            #expect(ghosts.those.count == 10)
            await server.stop()
            alice.abandon()
            return ghosts
        }
        let ghosts = try await run()
        // The ended threads release their last jobs.
        let deadline = ContinuousClock.now + .seconds(40)
        while !ghosts.those.isEmpty, ContinuousClock.now < deadline { await Task.yield() }
        #expect(ghosts.those.isEmpty)
    }

    @Test("what problems are judged by comes from the running parts", .cleanup)
    func facts() async throws {
        typealias Counter = CountHistory.Counter
        let secret = "/nowhere/turn-secret"
        var configuration = ServerConfiguration(address: .anyPort, data: try .temporary(), shards: 1)
        configuration.turn = TurnConfiguration(urls: ["turn:a"], secret: "north", secretFile: secret)
        configuration.tokens.provider = IdentityProvider(issuer: "https://id.example.com/", audiences: ["reveille"])
        configuration.tokens.keysAddress = WebAddress("http://127.0.0.1:1/keys")
        let server = try await CallServer.start(configuration, log: .none)
        let certificates = ListenerCertificates(webSockets: server.webSockets, admin: server.admin, metrics: nil)
        let watch = ProblemWatch(
            server.parts, server.webSockets, certificates, adminSocket: try configuration.data.adminSocket(),
            logLinesDropped: { 7 }, logFailure: { "full" }, hasRefusedReload: { true },
            missingFiles: { [("turn.secret_file", secret), ("tls.key", "/nowhere/key")] },
            monitor: { [admin = server.admin] in await admin.liveFigures() })
        for file in ["client-token.key", "wake-token.key"] {
            try FileManager.default.removeItem(atPath: configuration.data.path + "/" + file)
        }
        await watch.ask()
        let facts = watch.facts(await server.parts.core.snapshot())
        let socket = configuration.data.path + "/admin.sock"
        try FileManager.default.removeItem(atPath: socket)
        await watch.ask()
        let missingSocket = watch.facts(nil).missingAdminSocket
        await server.stop()
        #expect(facts.core != nil && facts.identity?.hasKeys == false)
        #expect(
            facts.missingFiles.map(\.setting) == [
                "turn.secret_file", "tls.key", "tokens.secret_file", "wake-token.key",
            ])
        #expect(facts.missingAdminSocket == nil && missingSocket == socket)
        #expect(facts.logFailure == "full" && facts.hasRefusedReload && facts.openFiles > 0 && facts.maxFiles > 0)
        #expect(facts.queues.map(\.name) == ["core", "store", "commits"])
        #expect(facts.counts[.logLinesDropped] == 7)
        var counters: Set<Counter> = [
            .sessionsAsked, .sessionsRefused, .callsEnded, .rings, .slowRings, .commits, .slowCommits, .storeFailures,
            .hungCommits,
            .coreRefused, .connectionsEvicted, .devicesSuspended, .clockSteps, .suspensions, .logLinesDropped,
            .connectionsShutOut, .callsRefused, .acceptPauses, .authorizationsAsked, .authorizationsFailed,
            .authorizationsOfOneUser, .limit("connections"), .busy("core"),
        ]
        counters.formUnion(EndReason.allCases.map(Counter.callsEndedWith))
        counters.formUnion(CoreLimit.allCases.map { Counter.limit($0.rawValue) })
        counters.formUnion(RateLimit.allCases.map { Counter.limit($0.rawValue) })
        #expect(Set(facts.counts.keys).subtracting([.busy("shard_0")]) == counters)
    }

    @Test("a proxy of this machine that is not listed is warned of once; one that is listed is not", .cleanup)
    func unlistedProxy() async throws {
        let listed = try #require(AddressRange("127.0.0.0/8"))
        for (proxies, count) in [([], 1), ([listed], 0)] as [([AddressRange], Int)] {
            let lines = LogLines()
            var configuration = ServerConfiguration(address: .anyPort, data: try .temporary(), shards: 2)
            configuration.proxies.addresses = proxies
            let server = try await CallServer.start(configuration, log: lines.logger())
            let options = ["-s", "-o", "/dev/null", "http://\(server.address)/healthz"]
            func warnings() -> Int { lines.take().count { $0.contains("listen.proxies does not list it") } }
            _ = try await ChildProcess.run("/usr/bin/curl", options)
            #expect(warnings() == 0, "it is no proxy")
            for header in ["X-Forwarded-For: 203.0.113.9", "Forwarded: for=203.0.113.9", "Via: 1.1 proxy"] {
                _ = try await ChildProcess.run("/usr/bin/curl", ["-H", header] + options)
            }
            #expect(warnings() == count)
            await server.stop()
        }
    }

    @Test("the start logs the address for signing in by name, and no address without the setting", .cleanup)
    func signInPage() async throws {
        for isOn in [false, true] {
            let lines = LogLines()
            var configuration = ServerConfiguration(address: .anyPort, data: try .temporary(), shards: 1)
            configuration.signsInByName = isOn
            let server = try await CallServer.start(configuration, log: lines.logger())
            let found = lines.take().filter { $0.contains("/phone/#secret=") }
            #expect(found.count == (isOn ? 1 : 0) && (server.signInPage != nil) == isOn)
            if let page = server.signInPage { #expect(found.first?.hasSuffix("url=\(page)") == true, "\(found)") }
            await server.stop()
        }
    }

    @Test("a call between two phones is watched until its end, and counted in the statistics", .cleanup)
    func phones() async throws {
        let folder = try DataFolder.temporary()
        let server = try await CallServer.start(
            ServerConfiguration(address: .anyPort, data: folder, shards: 1), log: .none)
        let client = try AdminClient.connected(to: folder.adminSocket())
        let seen = Journal<CallView>()
        try await client.subscribe(SubscribeToCalls(intervalMilliseconds: 100)) { event in
            if case .notification(let frame) = event { for call in frame.calls { seen.append(call) } }
        }
        let runtime = try SoftphoneRuntime()
        let alice = try await Self.phone("alice", at: server, runtime)
        let bob = try await Self.phone("bob", at: server, runtime)
        _ = try await alice.connect()
        let callee = try await bob.connect().user
        var events = bob.events().makeAsyncIterator()
        let call = try await alice.call(.user(callee))
        while let event = await events.next() {
            if case .incoming = event { break }
        }
        try await bob.answer(call)
        try await seen.wait(for: "the answer") { $0.contains { $0.callID == call && $0.answeredBy == callee } }
        #expect(try await client.perform(ListSessions(user: callee)).items.map(\.app) == ["test"])
        #expect(try await client.perform(ListCalls(live: true, user: callee)).items.map(\.callID) == [call])
        try await alice.hangup(call)
        try await seen.wait(for: "the end") { $0.contains { $0.callID == call && $0.reason == .hangup } }

        // The core's part of the statistics is at most a second old.
        var stats = try await client.perform(GetStats())
        for _ in 0..<100_000 where stats.calls.ended[.hangup] != 1 { stats = try await client.perform(GetStats()) }
        #expect(stats.calls.invited == 1 && stats.calls.answered == 1 && stats.calls.live.isEmpty)
        #expect(stats.sessions.online == 2 && stats.sessions.connections == 2)
        #expect(
            stats.stages.contains { $0.stage == .inviteToRinging || $0.stage == .answerToConnected || $0.count > 0 })
        #expect(stats.store.commits > 0 && stats.process.residentBytes > 0 && stats.problems.isEmpty)
        let info = try await client.perform(GetServerInfo())
        #expect(info.address == "\(server.address)" && info.data == folder.path && !info.isDraining)
        alice.abandon()
        bob.abandon()
        await server.stop()
    }
}
