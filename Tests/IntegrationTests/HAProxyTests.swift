import CallCore
import CallVocabulary
import ChildProcess
import Foundation
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import StoreTesting
import TestCertificates
import TestCleanup
import Testing

/// Two nodes of a realm behind HAProxy with the shipped configuration, whose variables have other values here.
@Suite("HAProxy in front of two nodes", .world, .serialized, .timeLimit(.minutes(3)))
struct HAProxyTests {
    /// Where TLS ends.
    enum TLSEnd: String, CaseIterable {
        case proxy, node
    }

    private static let adminToken = "0123456789abcdef-right"
    /// HAProxy's own address as the nodes see it.
    private static let proxy = "127.0.0.1"

    /// The nodes and the proxy of a test. All addresses are loopback ones.
    private struct Site {
        let identity: TestIdentity
        let tls: TLSEnd
        /// The first three numbers of the nodes' addresses: the nodes have the ports of the shipped file.
        let network = "127.\(Int.random(in: 2...254)).\(Int.random(in: 2...254))"
        let port: UInt16
        let adminPort: UInt16

        init(_ tls: TLSEnd) async throws {
            (identity, self.tls) = (try await TestIdentity(), tls)
            (port, adminPort) = (try freePort(), try freePort())
            try FileManager.default.createDirectory(atPath: world.folder, withIntermediateDirectories: true)
            try Data(adminToken.utf8).write(to: URL(fileURLWithPath: world.folder + "/admin-token"))
            try await identity.openssl(["x509", "-in", identity.path("certificate.pem"), "-out", pair])
            let key = try Data(contentsOf: URL(fileURLWithPath: identity.path("key.pem")))
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: pair))
            try file.seekToEnd()
            try file.write(contentsOf: key)
        }

        private var pair: String { identity.path("pair.pem") }
        var url: String { "https://localhost:\(port)" }
        private var trusting: [String] { ["--cacert", identity.path("certificate.pem")] }

        /// Starts a node, and waits until it is the home or stands by.
        func node(_ name: String, _ number: Int) async throws -> Program {
            let address = "\(network).\(number)"
            var environment = world.storeEnvironment.merging(
                [
                    "REVEILLE_NODE": name, "REVEILLE_LISTEN_HOST": address, "REVEILLE_LISTEN_PROXIES": proxy,
                    "REVEILLE_LISTEN_PROXY_PROTOCOL": "true", "REVEILLE_METRICS_LISTEN": "off",
                    "REVEILLE_ADMIN_LISTEN": address + ":7351",
                    "REVEILLE_ADMIN_TOKEN_FILE": world.folder + "/admin-token",
                ]) { $1 }
            switch tls {
            case .proxy: environment["REVEILLE_LISTEN_INSECURE"] = "true"
            case .node:
                environment["REVEILLE_TLS_CERTIFICATE"] = identity.path("certificate.pem")
                environment["REVEILLE_TLS_KEY"] = identity.path("key.pem")
            }
            // The first has the folder in which the test makes its tokens.
            let folder = number == 1 ? world.folder : world.folder + "/\(name)"
            let program = try world.start(Program.reveille, ["serve", "--data", folder], environment: environment)
            try await program.errors.first("\(name) serves or stands by") { line in
                line.contains("is the realm's home") || line.contains("standing by") ? true : nil
            }
            // A process of the same name that was killed is listed until this one is.
            _ = try await eventually("\(name) is listed") {
                try await world.reveille("cluster status").output.contains("process \(program.pid),") ? true : nil
            }
            return program
        }

        /// Starts HAProxy, and waits until it has found the home.
        func haproxy() async throws {
            let shipped = MetricList.package.appending(path: "Resources/haproxy/haproxy.cfg")
            var text = try String(contentsOf: shipped, encoding: .utf8)
            // Only root may change the user.
            if getuid() != 0 { text = text.replacing(/\n *(user|group) haproxy/, with: "") }
            let file = world.folder + "/haproxy.cfg"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            _ = try world.start(
                ChildProcess.find("haproxy", package: "haproxy"), ["-db", "-f", file],
                environment: [
                    "NODE_A": "\(network).1", "NODE_B": "\(network).2", "LISTEN": "127.0.0.1:\(port)",
                    "LISTEN_ADMIN": "127.0.0.1:\(adminPort)", "TLS_ENDS": tls.rawValue, "CERTIFICATE": pair,
                ])
            _ = try await eventually("HAProxy finds the home") {
                try? await get("/healthz")?.status == 200 ? true : nil
            }
        }

        /// - Returns: nil when the connection is closed without an answer.
        func get(_ path: String, _ options: String...) async throws -> HTTPAnswer? {
            try? await HTTPAnswer.curl(trusting + options + [url + path])
        }

        func phone(_ user: String) async throws -> Phone {
            try await world.phone(user, at: "", runtime: SoftphoneRuntime(trust: identity.trust)) {
                $0.url = "wss://localhost:\(port)"
            }
        }

        func call() async throws -> (alice: Phone, bob: Phone, call: CallID) {
            let (alice, bob) = (try await phone("alice"), try await phone("bob"))
            return (alice, bob, try await alice.connects(to: bob))
        }

        /// Runs `body`, after which both phones come back to another home, where the call still has media.
        func moves(
            _ alice: Phone, _ bob: Phone, _ call: CallID, by body: () async throws -> Void
        ) async throws {
            let marks = [(alice, alice.events.count), (bob, bob.events.count)]
            try await body()
            for (phone, mark) in marks {
                let back = try await phone.events.first("the phone is back", from: mark) { $0.opened }
                #expect(back.calls.map(\.call) == [call] && back.calls.map(\.state) == [.connected])
            }
            let count = alice.events.count
            try await bob.softphone.update(CallUpdate(call: call, kind: .hold))
            try await alice.events.first("the hold", from: count) {
                $0 == .update(CallUpdate(call: call, kind: .hold)) ? true : nil
            }
        }
    }

    @Test(
        "a call outlives kill -9 of the home and a handover; the nodes know the clients' addresses, HAProxy the admin API",
        arguments: TLSEnd.allCases)
    func calls(_ tls: TLSEnd) async throws {
        try await world.use(.postgreSQL)
        let site = try await Site(tls)
        let first = try await site.node("a", 1)
        let second = try await site.node("b", 2)
        try await site.haproxy()
        let (alice, bob, call) = try await site.call()

        try await site.moves(alice, bob, call) { try await first.end(by: SIGKILL) }
        _ = try await site.node("a", 1)
        try await site.moves(alice, bob, call) { try await world.output("handover a") }
        try await site.moves(alice, bob, call) { try await world.output("handover b") }

        let client = "\(site.network).9"
        let refused = try await site.get("/v1/turn", "--interface", client, "--header", "Authorization: Bearer x")
        #expect(refused?.status == 401)
        let line = try await second.errors.first("the refusal") { $0.contains(#""request refused""#) ? $0 : nil }
        #expect(try (JSONObject(line)["address"] as? String)?.hasPrefix(client + ":") == true)
        let list = try await Program.reveille(
            "sessions", "list", "--output", "json", "--server", "wss://localhost:\(site.adminPort)", "--ca-file",
            site.identity.path("certificate.pem"), "--token", Self.adminToken)
        #expect(list.ending == .exit(0) && list.output.contains("alice"), "\(list)")
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
    }

    @Test("clients leave a home that is stopped and does not know that another has taken over")
    func stopped() async throws {
        try await world.use(.postgreSQL)
        let site = try await Site(.proxy)
        let first = try await site.node("a", 1)
        _ = try await site.node("b", 2)
        try await site.haproxy()
        let (alice, bob, call) = try await site.call()
        try await site.moves(alice, bob, call) { first.send(SIGSTOP) }
        first.send(SIGCONT)
        try await first.errors.first("the former home stands by") { $0.contains("standing by") ? true : nil }
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
    }

    @Test("after a clean stop no client stays at a home that falls silent later")
    func cleanStop() async throws {
        try await world.use(.postgreSQL)
        let site = try await Site(.proxy)
        var first = try await site.node("a", 1)
        let second = try await site.node("b", 2)
        try await site.haproxy()
        let (alice, bob, call) = try await site.call()
        for _ in 0..<2 {
            let home = first
            try await site.moves(alice, bob, call) { try await home.end(by: SIGTERM) }
            first = try await site.node("a", 1)
            let began = ContinuousClock.now
            try await site.moves(alice, bob, call) { second.send(SIGSTOP) }
            // HAProxy closes the sockets: a ping would notice after 25 s.
            #expect(ContinuousClock.now - began < .seconds(20))
            let count = second.errors.count
            second.send(SIGCONT)
            try await second.errors.first("the former home stands by", from: count) {
                $0.contains("standing by") ? true : nil
            }
        }
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
    }

    @Test("while the database is away, HAProxy answers 503 and keeps the sockets, over which calls then go on")
    func databaseAway() async throws {
        let database = try await PostgresServer.start()
        atEnd { try? await database.remove() }
        world.use(database.address(realm: "away"))
        let site = try await Site(.proxy)
        _ = try await site.node("a", 1)
        try await site.haproxy()
        let (alice, bob, call) = try await site.call()
        let marks = (alice.events.count, bob.events.count)

        try await database.stop("immediate")
        let answer = try await eventually("HAProxy has no home") {
            let answer = try await site.get("/healthz")
            return answer?.status == 503 ? answer : nil
        }
        #expect(answer.headers["retry-after"] == "1")
        try await database.restart()
        _ = try await eventually("the home is back") { try await site.get("/healthz")?.status == 200 ? true : nil }
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
        for (phone, mark) in [(alice, marks.0), (bob, marks.1)] {
            #expect(!phone.events.entries.dropFirst(mark).contains { $0.isDown })
        }
    }
}
