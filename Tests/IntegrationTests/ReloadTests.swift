import CallCore
import CallServer
import CallVocabulary
import ChildProcess
import EventLoop
import Foundation
import LibWebSockets
import PushClient
import SoftphoneKit
import SoftphoneSession
import TLS
import TestCertificates
import Testing

@Suite("A reload of the server", .world, .timeLimit(.minutes(2)))
struct ReloadTests {
    private func secure(_ user: String, _ server: CallServer, _ trusted: TestIdentity) async throws
        -> Phone
    {
        try await world.phone(user, at: server.address, runtime: SoftphoneRuntime(trust: trusted.trust)) {
            $0.url = "wss://localhost:\(server.address.port)"
        }
    }

    private func serial(_ server: CallServer) async throws -> String { try await TestIdentity.seen(at: server.address) }

    private func metrics(_ server: CallServer) async throws -> [Substring] {
        try await HTTPAnswer.curl(server, "/metrics").body.split(separator: "\n")
    }

    @Test("presents the new certificate to new clients, while a call over the old one continues on its sockets")
    func certificate() async throws {
        let (old, new) = (try await TestIdentity(serial: "0A"), try await TestIdentity(serial: "0B"))
        let server = try await world.startServer {
            $0.tls = old.files
            $0.shards = 2
        }
        let alice = try await secure("alice", server, old)
        let bob = try await secure("bob", server, old)
        let call = try await alice.connects(to: bob)
        #expect(try await serial(server) == "serial=0A")
        try await server.reload(ServerReload(tls: new.files))
        #expect(try await serial(server) == "serial=0B")
        // A client that trusts only the old certificate cannot connect; one that trusts the new one can.
        let carol = try await secure("carol", server, new)
        #expect(try await carol.connects(to: secure("dave", server, new)) != call)
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
        let lines = try await metrics(server)
        let expiry = #"reveille_tls_certificate_expiry_timestamp_seconds{listener="signal"} 1"#
        #expect(lines.contains { $0.hasPrefix(expiry) })
        #expect(lines.contains("reveille_sessions_resumed_total 0"))
    }

    @Test("with one fault is refused completely, with a clear message, and changes nothing")
    func refused() async throws {
        let (old, new) = (try await TestIdentity(serial: "0A"), try await TestIdentity(serial: "0B"))
        let server = try await world.startServer { $0.tls = old.files }
        var limits = CoreLimits()
        limits.liveCalls = 0
        var endless = ConnectionLimits()
        endless.messagesPerSecond = 0
        var timers = CallTimers()
        timers.ring = .seconds(601)
        let mixed = TLSFiles(certificateFile: new.files.certificateFile, keyFile: old.files.keyFile)
        let key = APNSEndpoint(environment: .sandbox, key: APNSKey(pem: "none", keyID: "K", teamID: "T"))
        let cases: [(ServerReload, String)] = [
            (ServerReload(tls: new.files, limits: limits), "limits: live_calls is at least 1"),
            (ServerReload(tls: new.files, timers: timers), "timers: ring is 5 to 600 s"),
            (
                ServerReload(tls: new.files, connectionLimits: endless),
                "connection_limits: messages_per_second has to be more than 0"
            ),
            (ServerReload(tls: new.files, maxConnections: 0), "max_connections: there is at least 1"),
            (
                ServerReload(tls: new.files, push: PushService.Configuration(apns: [key])),
                "APNs sandbox: key: the key K is not a P-256 private key in PEM (.p8)"
            ),
            (
                ServerReload(tls: mixed, maxConnections: 1),
                "\(old.files.keyFile): the key does not belong to the certificate in \(new.files.certificateFile)"
            ),
            (
                ServerReload(tls: new.files, adminToken: "0123456789abcdef"),
                "admin.token: the admin API does not listen on TCP; restart the server to change that"
            ),
            (
                ServerReload(tls: new.files, adminTLS: new.files),
                "admin.tls: the admin API is listening without TLS; restart the server to change that"
            ),
        ]
        for (reload, words) in cases {
            let error = await #expect(throws: (any Error).self) { try await server.reload(reload) }
            #expect(error.map { "\($0)" } == words)
        }
        #expect(try await serial(server) == "serial=0A")
        let alice = try await secure("alice", server, old)
        _ = try await alice.connects(to: secure("bob", server, old))
    }

    @Test("that removes a secret of users' tokens ends the sessions of its tokens, and no others")
    func removedSecret() async throws {
        let server = try await world.startServer { $0.shards = 2 }
        let bob = try await world.onlinePhone("bob", at: server.address)
        let file = URL(fileURLWithPath: world.folder + "/client-token.key")
        let (old, new) = (try Data(contentsOf: file), Data((String(repeating: "ab", count: 32) + "\n").utf8))
        var reload = ServerReload()
        reload.tokens = TokenConfiguration()
        try (new + old).write(to: file)
        try await server.reload(reload)
        let carol = try await world.onlinePhone("carol", at: server.address)
        _ = try await carol.connects(to: bob)
        try new.write(to: file)
        try await server.reload(reload)
        try await bob.events.first("the end of bob's session") {
            if case .connection(.gone(.closed(code: 3500))) = $0 { true } else { nil }
        }
        _ = try await world.onlinePhone("dave", at: server.address)
        _ = try await carol.softphone.call(.user("dave"))
    }

    @Test("of a server without TLS warns that it does not use the certificate")
    func plain() async throws {
        let identity = try await TestIdentity()
        let server = try await world.startServer()
        let error = await #expect(throws: ServerConfigurationError.self) {
            try await server.reload(ServerReload(tls: identity.files))
        }
        #expect(error?.field == "tls")
    }

    @Test("applies limits and timers to existing sessions, and ends none of their calls")
    func limits() async throws {
        let server = try await world.startServer()
        let (alice, bob, call) = try await world.liveCall(at: server.address)
        var limits = CoreLimits()
        limits.liveCallsPerUser = 1
        var slow = ConnectionLimits()
        slow.messagesPerSecond = 0.001
        slow.burst = 2
        try await server.reload(ServerReload(connectionLimits: slow, maxConnections: 2, limits: limits))
        let refusal = await #expect(throws: SoftphoneError.self) { try await alice.softphone.call(.user("bob")) }
        #expect(refusal.map { "\($0)" }?.contains("live calls") == true)
        // The allowance is now two messages; that was one of them.
        _ = await #expect(throws: SoftphoneError.self) { try await alice.softphone.call(.user("bob")) }
        let third = await #expect(throws: SoftphoneError.self) { try await alice.softphone.call(.user("bob")) }
        #expect(third.map { "\($0)" }?.contains("Too many messages") == true)
        // A third connection gets only the paths for load balancers.
        let curl = try await ChildProcess.run(
            "/usr/bin/curl",
            ["-s", "-m", "15", "-o", "/dev/null", "-w", "%{http_code}", "http://\(server.address)/"])
        #expect(curl.output != "200", "a third connection was taken")
        try await server.reload(
            ServerReload(connectionLimits: ConnectionLimits(), maxConnections: 100, limits: CoreLimits()))
        let carol = try await world.onlinePhone("carol", at: server.address)
        #expect(try await carol.softphone.call(.user("bob")) != call)
        #expect(try await bob.hangUp(call, seenBy: alice) == .hangup)
    }
}
