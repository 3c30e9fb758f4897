import CallVocabulary
import Foundation
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("The server's configuration", .world)
struct SettingsTests {
    /// Writes the configuration file in the world's data folder, where the server finds it.
    private func configure(_ text: String) throws {
        try FileManager.default.createDirectory(atPath: world.folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: world.folder + "/reveille.yaml"))
    }

    private func hangUp(_ server: Program, _ what: String, _ line: String) async throws {
        let start = server.errors.count
        server.send(SIGHUP)
        try await server.errors.first(what, from: start) { $0.contains(line) ? true : nil }
    }

    // MARK: SIGHUP

    @Test("SIGHUP reloads the file during a call, which continues")
    func reload() async throws {
        try configure("calls.ring_seconds: 50\n")
        let (server, address) = try await world.serve()
        let (alice, bob, call) = try await world.liveCall(at: address)
        try configure("calls.ring_seconds: 60\nlisten.port: 1\n")
        // The command line sets the port, so the file's value is no change.
        try await hangUp(server, "the change is taken over", #""from":"50","setting":"calls.ring_seconds","to":"60""#)
        try await hangUp(server, "the file is read again", "read again; no setting changed")
        #expect(try await alice.state(.connected, of: call).id == call)
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
        server.send(SIGTERM)
        #expect(try await server.result().ending == .exit(0))
        let sessions = server.errors.entries.filter { $0.contains("a changed setting needs a restart") }
        #expect(sessions == [])
    }

    @Test("a file with a fault changes nothing at SIGHUP: the fault is logged and the server continues")
    func badReload() async throws {
        try configure("calls.ring_seconds: 50\n")
        let (server, address) = try await world.serve()
        try configure("calls.ring_seconds: 60\ncalls.connect_secs: 10\n")
        try await hangUp(server, "the refusal", "the configuration was not applied")
        #expect(
            server.errors.entries.contains {
                $0.contains(
                    "\(world.folder)/reveille.yaml:2: calls.connect_secs: there is no such setting; "
                        + "did you mean calls.connect_seconds?")
            })
        #expect(!server.errors.entries.contains { $0.contains("a setting changed") })
        let (alice, bob, call) = try await world.liveCall(at: address)
        try await alice.hangUp(call, seenBy: bob)
        try configure("calls.ring_seconds: 60\n")
        try await hangUp(server, "the change is taken over", #""from":"50","setting":"calls.ring_seconds","to":"60""#)
    }

    @Test("a missing file changes nothing at SIGHUP: an editor may be replacing it")
    func goneReload() async throws {
        try configure("calls.ring_seconds: 50\n")
        let (server, _) = try await world.serve()
        try FileManager.default.removeItem(atPath: world.folder + "/reveille.yaml")
        try await hangUp(server, "the refusal", "reveille.yaml is missing; the server keeps its current settings")
        #expect(!server.errors.entries.contains { $0.contains("a setting changed") })
        try configure("calls.ring_seconds: 60\n")
        try await hangUp(server, "the change is taken over", #""from":"50","setting":"calls.ring_seconds","to":"60""#)
    }

    @Test("the log level changes at SIGHUP")
    func logLevel() async throws {
        try configure("")
        let (server, _) = try await world.serve()
        try configure("log.level: error\n")
        try await hangUp(server, "the change is taken over", #""from":"info","setting":"log.level","to":"error""#)
        let token = world.folder + "/token"
        try Data("0123456789abcdef".utf8).write(to: URL(fileURLWithPath: token))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: token)
        // A warning and an error; the new level hides the warning.
        let faults = "admin.listen: 127.0.0.1:1\nadmin.token_file: token\ncolour: blue\n"
        try configure("log.level: error\n" + faults)
        try await hangUp(server, "the error", "was not applied")
        #expect(!server.errors.entries.contains { $0.contains("can be read by every user") })
        try configure("log.level: info\n" + faults)
        try await hangUp(server, "the error", "was not applied")
        try configure("log.level: info\n")
        try await hangUp(server, "the change is taken over", #""from":"error","setting":"log.level","to":"info""#)
    }

    @Test("a SIGHUP during the start takes effect after it")
    func earlyHangUp() async throws {
        let server = try world.start("serve --port 0")
        _ = try await eventually("it is on its way") {
            FileManager.default.fileExists(atPath: world.folder + "/client-token.key") ? true : nil
        }
        server.send(SIGHUP)
        try await server.errors.first("the file was read again") { $0.contains("read again") ? true : nil }
        #expect(server.errors.entries.contains { $0.contains("listening") })
        #expect(try await server.end(by: SIGTERM) == .exit(0))
    }

    @Test("a server raises its descriptor limit for its connections, and a reload to more reports too few")
    func descriptors() async throws {
        try configure("limits.connections: 100\n")
        let (server, _) = try await world.serve("--log-level", "debug")
        try await server.errors.first("it has those and some") {
            $0.contains(#""connections":100,"#) && $0.contains(#""descriptors":1124}"#) ? true : nil
        }
        let tooMany = "limits.connections needs more file descriptors"
        for count in [99, 100] {
            try configure("limits.connections: \(count)\n")
            try await hangUp(server, "it is taken over", #""setting":"limits.connections","to":"\#(count)""#)
        }
        try configure("limits.connections: 101\n")
        try await hangUp(server, "the warning", tooMany)
        #expect(server.errors.entries.filter { $0.contains(tooMany) }.count == 1)
    }

    @Test("a server without enough descriptors for its connections reports it at its start")
    func fewDescriptors() async throws {
        try configure("limits.connections: 100\n")
        let few = #"ulimit -n 1000; exec "$0" serve --data "$1" --port 0"#
        let server = try world.start("/bin/bash", ["-c", few, Program.reveille, world.folder])
        let line = try await server.errors.first("the warning") {
            $0.contains("limits.connections needs more file descriptors") ? $0 : nil
        }
        #expect(line.contains(#""needed":1124"#) && line.contains(#""descriptors":1000"#))
        let start = try await server.errors.first("it serves") { $0.contains("listening") ? $0 : nil }
        #expect(start.contains(#""connections":100,"#))
    }

    @Test("a server that may open too few files for its own refuses to start, in words, and makes nothing")
    func tooFewDescriptors() async throws {
        for limit in [64, 319] {
            let few = #"ulimit -n \#(limit); exec "$0" serve --data "$1" --port 0"#
            let refused = try await Program.run("/bin/bash", ["-c", few, Program.reveille, world.folder])
            #expect(refused.ending == .exit(2))
            let words = "this process may open \(limit) files, and a server needs 320 at least"
            #expect(refused.errors.contains(words), "\(refused.errors)")
            #expect(!FileManager.default.fileExists(atPath: world.folder + "/reveille.sqlite3"))
        }
    }

    @Test("the first start does not complain of descriptors, and ends with the line of all addresses")
    func firstLines() async throws {
        let few = #"ulimit -n 5000; exec "$0" serve --data "$1" --port 0 --metrics-listen 127.0.0.1:0"#
        let server = try world.start("/bin/bash", ["-c", few, Program.reveille, world.folder])
        let line = try await server.errors.first("it serves") { $0.contains(#""message":"listening""#) ? $0 : nil }
        let before = server.errors.entries.prefix { $0 != line }
        let others = ["calls of the store listed", "connection limit"]
        #expect(before.filter { line in !others.contains { line.contains(#""message":"\#($0)""#) } } == [])
        let object = try JSONObject(line)
        let address = try #require(object["address"] as? String)
        #expect(object["url"] as? String == "ws://\(address)/v1/signal")
        #expect(object["admin"] as? String == world.folder + "/admin.sock")
        #expect((object["pushes"] as? String)?.hasPrefix("none: ") == true)
        #expect(object["connections"] as? Int == 3976)
        let metrics = try #require(object["metrics"] as? String)
        #expect(try await HTTPAnswer.metric("reveille_ready", at: metrics) == 1)
    }

    // MARK: Starting

    @Test("serve with an invalid file reports every fault and ends with exit code 2")
    func badStart() async throws {
        try configure("listen.port: x\nlisten.host: 0.0.0.0\n")
        let result = try await world.reveille("serve")
        #expect(result.ending == .exit(2))
        let file = "\(world.folder)/reveille.yaml"
        // Without a terminal every line is JSON.
        let lines = try result.errorLines.map { try JSONObject(String($0)) }
        #expect(lines.map { $0["level"] as? String } == ["critical", "critical"])
        let messages = lines.compactMap { $0["message"] as? String }
        #expect(messages.first == "\(file):1: listen.port: 'x' is not a whole number; give 0 to 65535")
        #expect(messages.last?.hasPrefix("\(file):2: listen.host: 0.0.0.0 can be reached") == true)
        try await world.reveille("serve --config /none.yaml").expectFailure(2, "/none.yaml: cannot be read")
    }

    @Test("push-test uses the server's configuration where no option selects the provider")
    func pushTest() async throws {
        let simulator = try await world.startSimulator()
        let topic = "org.reveille.phone.voip"
        let token = try #require(await simulator.registerPhone(topic: topic, environment: .production))
        try configure("push.simulator: true\n")
        let sent = try await world.reveille("push-test --token \(token) --topic \(topic)")
        #expect(sent.ending == .exit(0), "\(sent.output) \(sent.errors)")
    }
}
