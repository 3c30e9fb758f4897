import CallServer
import CallStore
import CallVocabulary
import Foundation
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import TestCleanup
import Testing

/// Clients that hold connections idle, by a script that also runs by hand for longer.
@Suite("Slow clients", .world, .timeLimit(.minutes(2)))
struct SlowClientsTests {
    /// The running attack, after each of its connections was opened once.
    private func attack(_ address: some CustomStringConvertible, _ count: Int) async throws -> Program {
        let program = try world.start(
            "/usr/bin/python3", [Program.scripts + "/slow_clients.py", "\(address)", "\(count)", "60"],
            environment: ["PYTHONDONTWRITEBYTECODE": "1"])
        try await program.output.first("all slow clients have come") { $0 == "ready" ? true : nil }
        return program
    }

    @Test("do not block other clients: health checks, metrics, calls and pushes work during the attack")
    func slow() async throws {
        let (simulator, server) = try await world.startPushing { $0.maxConnections = 40 }
        let bob = try await world.sleepingPhone("bob", at: server.address) { _ in }
        // Two thirds stay; those without a token for their body are closed at once.
        let program = try await attack(server.address, 90)
        for _ in 0..<5 {
            for path in ["/healthz", "/readyz"] {
                #expect(try await HTTPAnswer.curl("http://\(server.address)\(path)").status == 200)
            }
        }
        // Both connect during the attack, and one is woken.
        let alice = try await world.phone("alice", at: server.address)
        let carol = try await world.phone("carol", at: server.address)
        let call = try await alice.connects(to: carol)
        try await alice.hangUp(call, seenBy: carol)
        let waking = try await alice.softphone.call(.user("bob"))
        try await bob.rings(waking)
        try await alice.softphone.hangup(waking)
        let metrics = "http://\(try #require(server.metricsAddress))/metrics"
        #expect(try await HTTPAnswer.metric("reveille_connections_evicted_total", at: metrics) ?? 0 > 0)
        // No client with a session was evicted.
        #expect((alice.events.entries + carol.events.entries).filter(\.isDown) == [])
        #expect(await simulator.snapshot()?.counts.received ?? 0 >= 1)
        await program.abandon()
    }

    @Test("leave the descriptors that the store, the pushes and the administrators need")
    func descriptors() async throws {
        let few = #"ulimit -n 600; exec "$0" serve --data "$1" --port 0 --metrics-listen 127.0.0.1:0"#
        let program = try world.start("/bin/bash", ["-c", few, Program.reveille, world.folder])
        let line = try await program.errors.first("the server listens") {
            $0.contains(#""message":"listening""#) ? $0 : nil
        }
        let object = try JSONObject(line)
        let address = try #require(object["address"] as? String)
        let metrics = try #require(object["metrics"] as? String)
        #expect(try await HTTPAnswer.metric("reveille_connections_limit", at: metrics) == 344)
        let limit = program.errors.entries.first { $0.contains(#""message":"connection limit""#) }
        #expect(limit?.contains(#""connections":344,"#) == true, "a line of the start")
        let attack = try await attack(address, 600)
        #expect(try await HTTPAnswer.curl("http://\(address)/readyz").status == 200)
        try await world.output("calls list")
        #expect(try await HTTPAnswer.metric("process_open_fds", at: metrics) ?? 600 < 560)
        await attack.abandon()
    }

    @Test("a session.open that arrived while the process was stopped gets its reply, even after its timeout")
    func stoodStill() async throws {
        let file = world.folder + ".yaml"
        try "sessions.open_seconds: 1\n".write(toFile: file, atomically: true, encoding: .utf8)
        atEnd { try? FileManager.default.removeItem(atPath: file) }
        let (program, address) = try await world.serve(port: 0, "--config", file)
        try await Program.script(
            "frozen.py", "ws://\(address)", "\(program.pid)", try await world.token("alice"))
    }
}
