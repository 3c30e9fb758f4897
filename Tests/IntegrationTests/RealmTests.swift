import CallCore
import CallServer
import CallVocabulary
import Foundation
import Glibc
import StoreInterface
import StoreTesting
import TestCleanup
import Testing

/// Servers in their own processes that serve one realm.
@Suite("A realm of several servers", .world, .serialized, .timeLimit(.minutes(3)))
struct RealmTests {
    /// A server with a data folder of its own.
    private struct Node {
        let program: Program
        let folder: String
        let port: UInt16
        let metricsPort: UInt16

        func said(_ message: String, after count: Int = 0) async throws {
            try await program.errors.first(message, from: count) { line in
                line.contains(#""message":"\#(message)""#) ? true : nil
            }
        }

        func readiness() async throws -> (isReady: Bool, words: String) {
            let told = try await HTTPAnswer.curl("http://127.0.0.1:\(metricsPort)/readyz")
            let open = try await HTTPAnswer.curl("http://127.0.0.1:\(port)/readyz")
            #expect(told.status == open.status)
            return (told.status == 200, told.body)
        }
    }

    private let database: PostgresAddress

    init() async throws { database = try await PostgresServer.freshAddress() }

    private func start(_ name: String, folder: String? = nil) throws -> Node {
        let folder = folder ?? "\(world.folder)/\(name)"
        let (port, metricsPort) = (try freePort(), try freePort())
        let program = try world.start(
            Program.reveille,
            [
                "serve", "--store", database.uri, "--realm", database.realm, "--node", name, "--data", folder, "--port",
                "\(port)", "--metrics-listen", "127.0.0.1:\(metricsPort)",
            ])
        return Node(program: program, folder: folder, port: port, metricsPort: metricsPort)
    }

    private static let home = "this server is the realm's home"
    private static let standby = "the realm has a home"

    private func pair() async throws -> (home: Node, standby: Node) {
        let first = try start("one")
        try await first.said(Self.home)
        let second = try start("two")
        try await second.said(Self.standby)
        return (first, second)
    }

    private func reveille(_ arguments: String...) async throws -> Program.Result {
        try await Program.run(
            Program.reveille, arguments + ["--store", database.uri, "--realm", database.realm])
    }

    @Test("the first is the home, the second stands by, says so, and refuses clients")
    func join() async throws {
        let (home, standby) = try await pair()
        #expect(try await home.readiness().isReady)
        let told = try await standby.readiness()
        #expect(!told.isReady && told.words.contains("standby: the realm's home is one ("), "\(told.words)")
        let upgrade = [
            "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol: reveille.v1",
        ].flatMap { ["--header", $0] }
        let refused = try await HTTPAnswer.curl(upgrade + ["http://127.0.0.1:\(standby.port)/v1/signal"])
        #expect(refused.status == 503 && refused.headers["retry-after"] == "1")
        #expect(try await HTTPAnswer.curl("http://127.0.0.1:\(standby.port)/healthz").status == 200)
        let check = try await Program.run(Program.reveille, ["check", "--data", standby.folder])
        #expect(check.ending == .exit(0) && check.output.contains("OK - standby: the realm's home is one ("))
        let (of, other) = (try await metrics(home), try await metrics(standby))
        #expect(of.contains("reveille_realm_home 1") && other.contains("reveille_realm_home 0"))
        _ = try await eventually("the home knows the standby") {
            try await metrics(home).contains("reveille_realm_standbys 1") ? true : nil
        }
        // Seven for the home, one for the standby, as the articles say.
        let connections = """
            SELECT string_agg(split_part(application_name, ' ', 2), ' ' ORDER BY application_name COLLATE "C")
            FROM pg_stat_activity WHERE application_name ~ '^reveille [a-z]+ \(database.realm)$'
            """
        _ = try await eventually("the nodes have their connections") {
            let found = try await Program.run(
                PostgresServer.programs + "/psql", ["-X", "-A", "-t", "-c", connections, database.uri])
            return found.output.trimmingCharacters(in: .whitespacesAndNewlines)
                == "commits lease queries queries queries standby state tables" ? true : nil
        }
        for file in ["client-token.key", "wake-token.key"] {
            let texts = try [home, standby].map { try String(contentsOfFile: "\($0.folder)/\(file)", encoding: .utf8) }
            #expect(texts[0] == texts[1] && texts[0].count > 64)
        }
    }

    private func metrics(_ node: Node) async throws -> String {
        try await HTTPAnswer.curl("http://127.0.0.1:\(node.metricsPort)/metrics").body
    }

    @Test("a server whose secrets are not the realm's is refused, with what to do")
    func otherSecrets() async throws {
        let home = try start("one")
        try await home.said(Self.home)
        let folder = world.folder + "/other"
        _ = try await TokenAuthority(folder: DataFolder(path: folder).made())
        let result = try await start("two", folder: folder).program.result()
        #expect(result.ending == .exit(2))
        #expect(result.errors.contains("\(folder)/client-token.key differs from the realm's"), "\(result.errors)")
        for words in ["First compare", "sha256sum \(folder)/client-token.key", "move the file away"] {
            #expect(result.errors.contains(words), "\(result.errors)")
        }
    }

    @Test("servers that start together have the same secrets, and the standby of two takes over")
    func together() async throws {
        let nodes = [try start("one"), try start("two")]
        let standby = try await eventually("one stands by") {
            nodes.first { node in node.program.errors.entries.contains { $0.contains(Self.standby) } }
        }
        let home = try #require(nodes.first { $0.folder != standby.folder })
        try await home.said(Self.home)
        for file in ["client-token.key", "wake-token.key"] {
            _ = try await eventually("the standby has \(file)") {
                FileManager.default.contentsEqual(
                    atPath: "\(home.folder)/\(file)", andPath: "\(standby.folder)/\(file)")
                    ? true : nil
            }
        }
        #expect(try await home.program.end(by: SIGKILL) == .signal(SIGKILL))
        try await standby.said(Self.home)
    }

    @Test("a secret that is replaced on a standby is shown, and moved aside at the take-over")
    func replacedSecret() async throws {
        let (home, standby) = try await pair()
        let (key, own) = ("\(standby.folder)/client-token.key", String(repeating: "5e", count: 32) + "\n")
        let kept = try String(contentsOfFile: key, encoding: .utf8)
        try own.write(toFile: key, atomically: true, encoding: .utf8)
        let problem = "\(key) differs from the realm's"
        let status = try await eventually("the status shows it") {
            let status = try await reveille("cluster", "status")
            return status.output.contains("problem: two: \(problem)") ? status : nil
        }
        #expect(status.ending == .exit(1))
        #expect(try await standby.readiness().words.contains(problem))
        #expect(try await home.program.end(by: SIGKILL) == .signal(SIGKILL))
        try await standby.said(Self.home)
        #expect(try String(contentsOfFile: key, encoding: .utf8) == kept)
        let aside = try FileManager.default.contentsOfDirectory(atPath: standby.folder).filter {
            $0.hasPrefix("client-token.key.replaced-")
        }
        #expect(aside.count == 1)
        #expect(try String(contentsOfFile: "\(standby.folder)/\(aside[0])", encoding: .utf8) == own)
    }

    @Test("what a reload makes is the realm's: a standby makes no key for Web Push, and takes that of the home")
    func reloadedSecret() async throws {
        let (home, standby) = try await pair()
        func reload(_ node: Node) async throws {
            try "push.webpush.subject: mailto:a@example.org\n".write(
                toFile: node.folder + "/reveille.yaml", atomically: true, encoding: .utf8)
            node.program.send(SIGHUP)
            try await node.said("admin reload")
        }
        try await reload(standby)
        #expect(!FileManager.default.fileExists(atPath: standby.folder + "/webpush.key"))
        try await reload(home)
        let key = try String(contentsOfFile: home.folder + "/webpush.key", encoding: .utf8)
        #expect(try await reveille("handover").ending == .exit(0))
        try await standby.said(Self.home)
        #expect(try String(contentsOfFile: standby.folder + "/webpush.key", encoding: .utf8) == key)
        // A secret that is not the realm's is refused.
        try (String(repeating: "5e", count: 32) + "\n").write(
            toFile: standby.folder + "/client-token.key", atomically: true, encoding: .utf8)
        standby.program.send(SIGHUP)
        try await standby.program.errors.first("it is refused") { line in
            line.contains("/client-token.key differs from the realm's") ? true : nil
        }
    }

    @Test("a standby whose settings are refused at a reload says so")
    func refusedReload() async throws {
        let (home, standby) = try await pair()
        try "no.such.setting: 1\n".write(toFile: standby.folder + "/reveille.yaml", atomically: true, encoding: .utf8)
        standby.program.send(SIGHUP)
        try await standby.said("admin reload")
        _ = try await eventually("the standby says so") {
            try await standby.readiness().words.contains("settings: the last reload was refused") ? true : nil
        }
        #expect(try await home.readiness().isReady)
    }

    @Test("reveille token signs with the realm's secret, and makes none; a second server of one name says so")
    func token() async throws {
        let folder = world.folder + "/elsewhere"
        let early = try await reveille("token", "alice", "--data", folder)
        early.expectFailure(2, "the database has no realm \(database.realm)")
        let home = try start("one")
        try await home.said(Self.home)
        let result = try await reveille("token", "alice", "--data", folder)
        #expect(result.ending == .exit(0) && result.errors.isEmpty, "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder))
        let namesake = try start("one", folder: folder)
        try await namesake.said(
            "another server of the realm has this one's name; give each a name of its own with --node")
        let token = result.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let explained = try await reveille("token", "explain", token, "--data", folder)
        #expect(explained.ending == .exit(0), "\(explained.output)")
        // The server's own file says the same.
        let byFolder = try await Program.run(Program.reveille, ["token", "explain", token, "--data", home.folder])
        #expect(byFolder.ending == .exit(0), "\(byFolder.output)")
    }

    @Test("a backend's token is the realm's: each home takes it without SIGHUP, until it is revoked")
    func backendToken() async throws {
        let (home, standby) = try await pair()
        func status(of node: Node, _ token: String) async throws -> Int {
            let header = "Authorization: Bearer \(token)"
            return try await HTTPAnswer.curl(
                ["--header", header, "http://127.0.0.1:\(node.port)/v1/backend/groups"]
            ).status
        }
        // Without the database's name it would be this folder's.
        for node in [home, standby] {
            let refused = try await Program.run(
                Program.reveille, ["token", "backend", "pbx", "--role", "read", "--data", node.folder])
            refused.expectFailure(1, "nothing was changed: the server on \(node.folder) is of a realm", "--store")
            #expect(!FileManager.default.fileExists(atPath: node.folder + "/backend-tokens"))
        }
        let made = try await reveille("token", "backend", "pbx", "--role", "read", "--data", standby.folder)
        #expect(made.ending == .exit(0) && made.errors.contains("the realm \(database.realm) has the token"))
        let token = made.output.filter { !$0.isNewline }
        _ = try await eventually("the home takes it") { try await status(of: home, token) == 200 ? true : nil }
        #expect(try await reveille("handover").ending == .exit(0))
        try await standby.said(Self.home)
        #expect(try await status(of: standby, token) == 200)
        let revoked = try await reveille("token", "backend", "pbx", "--revoke")
        #expect(revoked.ending == .exit(0) && revoked.errors.contains("revoked 1"), "\(revoked.errors)")
        _ = try await eventually("it is refused") { try await status(of: standby, token) == 401 ? true : nil }
        try await reveille("token", "backend", "pbx", "--revoke").expectFailure(1, "has no token of the name pbx")
    }

    @Test("a second server on the data folder of another is refused before it takes the lease")
    func sameFolder() async throws {
        let (home, standby) = try await pair()
        for node in [home, standby] {
            let result = try await start("three", folder: node.folder).program.result()
            result.expectFailure(2, "a server runs on the data folder \(node.folder)")
        }
        #expect(try await home.readiness().isReady)
    }

    @Test("after kill -9 of the home the standby serves within seconds")
    func kill() async throws {
        let (home, standby) = try await pair()
        #expect(try await home.program.end(by: SIGKILL) == .signal(SIGKILL))
        let began = ContinuousClock.now
        try await standby.said(Self.home)
        // It takes the lease's 3 s. On a machine that is busy with all tests it may take a few more; a standby that waits
        // for the connection of the dead one, or for a client, takes longer than this.
        #expect(ContinuousClock.now - began < .seconds(10))
        #expect(try await standby.readiness().isReady)
        let status = try await reveille("cluster", "status", "--output", "json")
        // Nobody stands by.
        #expect(status.ending == .exit(1))
        #expect(try JSONObject(status.output)["epoch"] as? Int == 2)
    }

    @Test("a home that was stopped for longer than its lease is fenced, and stands by")
    func pause() async throws {
        let (home, standby) = try await pair()
        home.program.send(SIGSTOP)
        try await standby.said(Self.home)
        let before = home.program.errors.count
        home.program.send(SIGCONT)
        try await home.said("this server has lost the lease, and stands by", after: before)
        try await home.said(Self.standby, after: before)
        let told = try await home.readiness()
        #expect(!told.isReady && told.words.contains("the realm's home is two ("), "\(told.words)")
        #expect(try await standby.readiness().isReady)
    }

    @Test("reveille handover makes the standby the home, and back")
    func handover() async throws {
        let (first, second) = try await pair()
        var (home, standby) = (first, second)
        for epoch in 2...4 {
            let marks = (home.program.errors.count, standby.program.errors.count)
            let result = try await reveille("handover", "--output", "json")
            #expect(result.ending == .exit(0), "\(result.errors)")
            #expect((try JSONObject(result.output)["handover"] as? [String: Any])?["epoch"] as? Int == epoch)
            try await standby.said(Self.home, after: marks.1)
            try await home.said("standing by", after: marks.0)
            _ = try await eventually("the former home is seen") {
                try await reveille("cluster", "status").ending == .exit(0) ? true : nil
            }
            (home, standby) = (standby, home)
        }
        let mark = standby.program.errors.count
        #expect(try await home.program.end(by: SIGTERM) == .exit(0))
        try await standby.said(Self.home, after: mark)
        let alone = try await reveille("handover")
        alone.expectFailure(1, "no server stands by")
    }

    @Test("a home that is stopped refuses clients for a moment, so that none is sent to a closed port")
    func leaving() async throws {
        let (home, standby) = try await pair()
        _ = try await eventually("the home knows the standby") {
            try await metrics(home).contains("reveille_realm_standbys 1") ? true : nil
        }
        home.program.send(SIGTERM)
        _ = try await eventually("it is not the home") {
            let answer = try? await HTTPAnswer.curl("http://127.0.0.1:\(home.port)/homez")
            return answer?.status == 503 ? true : nil
        }
        try await standby.said(Self.home)
        #expect(try await home.program.ending() == .exit(0))
    }

    @Test("reveille cluster status says what is missing")
    func status() async throws {
        let none = try await reveille("cluster", "status")
        none.expectFailure(2, "the database has no realm \(database.realm)")
        let (home, _) = try await pair()
        let both = try await reveille("cluster", "status")
        #expect(both.ending == .exit(0) && !both.output.contains("problem:"), "\(both.output)")
        #expect(both.output.contains("one") && both.output.contains("standby"))
        let stats = try await Program.run(Program.reveille, ["stats", "--data", home.folder])
        #expect(stats.output.contains("home of its realm, epoch 1"), "\(stats.output)")
        let folder = try await Program.run(Program.reveille, ["cluster", "status", "--data", home.folder])
        folder.expectFailure(64, "name it with --store")
    }
}

extension DataFolder {
    fileprivate func made() throws -> DataFolder {
        try prepare()
        return self
    }
}
