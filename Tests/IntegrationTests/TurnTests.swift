import CallServer
import CallVocabulary
import Crypto
import Foundation
import SoftphoneKit
import SoftphoneSession
import TestCleanup
import Testing

/// A server's TURN credentials with a real coturn, `turnserver`, and its client, `turnutils_uclient`.
@Suite("TURN credentials", .world, .timeLimit(.minutes(2)))
struct TurnTests {
    /// A coturn with these secrets on a port of 127.0.0.1, until the end of the test.
    private struct Relay {
        let port: UInt16

        init(secrets: [String]) async throws {
            let port = try freePort()
            self.port = port
            let folder = world.folder
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let lines =
                [
                    "listening-ip=127.0.0.1", "relay-ip=127.0.0.1", "listening-port=\(port)", "realm=example.com",
                    "use-auth-secret",
                ] + secrets.map { "static-auth-secret=\($0)" } + [
                    "no-tls", "no-dtls", "no-cli", "allow-loopback-peers", "log-file=stdout", "simple-log",
                    "pidfile=\(folder)/turn.pid", "userdb=\(folder)/turn.db",
                ]
            let file = folder + "/turnserver.conf"
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
            // Line by line: into a pipe coturn writes whole buffers.
            let program = try world.start("/usr/bin/stdbuf", ["-oL", "/usr/bin/turnserver", "-c", file])
            // The last line of its start.
            try await program.output.first("coturn runs") { $0.contains("(admin thread)") ? true : nil }
        }

        /// Whether it relays packets for a client with this credential.
        func relays(_ username: String, _ credential: String) async throws -> Bool {
            let result = try await Program.run(
                "/usr/bin/turnutils_uclient",
                ["-u", username, "-w", credential, "-p", "\(port)", "-y", "-c", "-n", "1", "-m", "1", "127.0.0.1"])
            let isRelayed = result.output.contains("Total lost packets 0 ")
            #expect(isRelayed == (result.ending == .exit(0)), "\(result.output)")
            return isRelayed
        }
    }

    private func configure(secret: String, port: UInt16) throws {
        let files = [
            ("turn-secret", secret), ("reveille.yaml", "turn.urls: turn:127.0.0.1:\(port)\nturn.secret_file: FILE\n"),
        ]
        for (name, text) in files {
            let text = text.replacing("FILE", with: world.folder + "/turn-secret")
            try Data(text.utf8).write(to: URL(fileURLWithPath: world.folder + "/" + name))
        }
    }

    private func signature(_ username: String, _ secret: String) -> String {
        let key = SymmetricKey(data: Data(secret.utf8))
        return Data(HMAC<Insecure.SHA1>.authenticationCode(for: Data(username.utf8), using: key)).base64EncodedString()
    }

    @Test("open the relay, in the result of session.open and by HTTP, also those of before a change of the secret")
    func coturn() async throws {
        let relay = try await Relay(secrets: ["north", "south"])
        try configure(secret: "north\n", port: relay.port)
        let (program, address) = try await world.serve()
        let opened = try await world.phone("alice", at: address).softphone.connect()
        let north = try #require(opened.iceServers.first)
        #expect(opened.iceServers.count == 1 && north.urls == ["turn:127.0.0.1:\(relay.port)"])
        #expect(north.username.hasSuffix(":alice"))
        #expect(try await relay.relays(north.username, north.credential))

        // The secret is not that of the relay; the user is another; the time is over, and signed for.
        #expect(try await !relay.relays(north.username, signature(north.username, "west")))
        #expect(try await !relay.relays(north.username.replacing("alice", with: "bob"), north.credential))
        let expired = "\(Int(Date().timeIntervalSince1970) - 5):alice"
        #expect(try await !relay.relays(expired, signature(expired, "north")))

        try configure(secret: "south\nnorth\n", port: relay.port)
        let start = program.errors.count
        program.send(SIGHUP)
        try await program.errors.first("the change is taken over", from: start) {
            $0.contains(#""setting":"turn.secret_file""#) ? true : nil
        }
        let answer = try await HTTPAnswer.curl(
            "--header", "Authorization: Bearer \(try await world.token("alice"))", "http://\(address)/v1/turn")
        #expect(answer.status == 200 && answer.headers["cache-control"] == "no-store")
        let servers = try #require(try answer.object["ice_servers"] as? [[String: Any]])
        let username = try #require(servers.first?["username"] as? String)
        let credential = try #require(servers.first?["credential"] as? String)
        #expect((3_590_000...3_600_000).contains(try #require(servers.first?["remaining_ms"] as? Int)))
        #expect(try await relay.relays(username, credential))
        #expect(try await relay.relays(north.username, north.credential))
        // coturn refuses these as they are.
        for user in ["o'brien", #""quoted""#, #"back\slash"#, "union-select", "zoë", "100%"] {
            let server = try #require(try await world.phone(user, at: address).softphone.connect().iceServers.first)
            #expect(try await relay.relays(server.username, server.credential), "\(user): \(server.username)")
        }
    }

    @Test("are refused over HTTP without a token and without a configuration")
    func refused() async throws {
        let server = try await world.startServer()
        #expect(try await world.phone("alice", at: server.address).softphone.connect().iceServers == [])
        let token = try await world.token("alice")
        for (shown, options, status, code) in [
            (nil, [], 401, "unauthenticated"), ("x.y.z", [], 401, "unauthenticated"), (token, [], 404, "not_found"),
            (token, ["--request", "POST", "--data", "{}"], 405, "method_not_found"),
        ] as [(String?, [String], Int, String)] {
            let authorization = shown.map { ["--header", "Authorization: Bearer \($0)"] } ?? []
            let answer = try await HTTPAnswer.curl(authorization + options + ["http://\(server.address)/v1/turn"])
            let shownCode = try answer.errorCode
            #expect(answer.status == status && shownCode == code, "\(answer)")
        }
    }
}
