import CallServer
import CallVocabulary
import SoftphoneKit
import Testing

@Suite("HTTP on the clients' port")
struct HTTPTests {
    @Test("healthz and readyz say that all is well, and metrics count the call that was made")
    func figures() async throws {
        try await World.run { world in
            let server = try await world.startServer()
            #expect(try await curl(server, "/healthz") == "200 text/plain; charset=utf-8\nok")
            #expect(try await curl(server, "/readyz") == "200 text/plain; charset=utf-8\nready")
            let alice = try await world.phone("alice", at: server.address)
            let bob = try await world.phone("bob", at: server.address)
            let call = try await alice.connects(to: bob)
            #expect(try await curl(server, "/metrics").contains("\nreveille_calls_live 1\n"))
            try await alice.softphone.hangup(call)
            _ = try await alice.ended(call)
            _ = try await bob.ended(call)

            let metrics = try await curl(server, "/metrics")
            #expect(metrics.hasPrefix("200 text/plain; version=0.0.4"))
            let lines = Set(metrics.split(separator: "\n"))
            for line in [
                #"reveille_calls_ended_total{reason="hangup"} 1"#, #"reveille_calls_ended_total{reason="cancelled"} 0"#,
                "reveille_calls_live 0", "reveille_calls_invited_total 1", "reveille_calls_answered_total 1",
                "reveille_calls_connected_total 1", "reveille_sessions_online 2", "reveille_ledger_violations 0",
            ] {
                #expect(lines.contains(Substring(line)), "\(line)")
            }
            // Each metric is described once, before its values (Prometheus' text format 0.0.4).
            let types = lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }
            #expect(Set(types).count == types.count)
            for line in lines where !line.hasPrefix("#") && line.contains(" ") && line.hasPrefix("reveille") {
                #expect(types.contains(line.prefix { $0 != "{" && $0 != " " }), "\(line)")
            }
        }
    }

    @Test("what is not there is 404, what is no GET is 405, and the signaling path wants a WebSocket")
    func refusals() async throws {
        try await World.run { world in
            let server = try await world.startServer()
            #expect(try await curl(server, "/nowhere").hasPrefix("404 "))
            #expect(try await curl(server, "/healthz", "-X", "POST", "-d", "x").hasPrefix("405 "))
            #expect(try await curl(server, "/metrics", "-X", "DELETE").hasPrefix("405 "))
            #expect(try await curl(server, "/v1/signal").hasPrefix("4"))
            #expect(try await curl(server, "/").hasPrefix("200 "))
            #expect(try await curl(server, "/healthz") == "200 text/plain; charset=utf-8\nok")
        }
    }

    /// - Returns: status and content type, then the body.
    private func curl(_ server: CallServer, _ path: String, _ options: String...) async throws -> String {
        let result = try await Program.run(
            "/usr/bin/curl",
            ["--silent", "--show-error", "--max-time", "10", "--write-out", "\n%{http_code} %{content_type}"] + options
                + ["http://\(server.address)\(path)"])
        #expect(result.ending == .exit(0), "\(result.errors)")
        var lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
        let head = lines.removeLast()
        return "\(head)\n" + lines.joined(separator: "\n").trimmingSuffix("\n")
    }
}

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        var text = self
        while text.last == character { text.removeLast() }
        return text
    }
}
