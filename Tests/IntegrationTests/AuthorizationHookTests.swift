import CallCore
import CallServer
import CallVocabulary
import Foundation
import OutgoingHTTP
import SoftphoneKit
import SoftphoneSession
import Testing
import WebhookClient

/// A server whose invites the backend of the article `AuthorizeCalls` authorizes.
@Suite("A backend that authorizes calls", .world, .timeLimit(.minutes(2)))
struct AuthorizationHookTests {
    private static let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

    /// The article's example, on a port of its own.
    /// - Parameters:
    ///   - failing: the beginning of the names of the users about whom it fails; nobody when it is empty.
    ///   - status: its answer about them.
    private func backend(
        failing: String = "", status: Int = 500
    ) async throws -> (program: Program, address: WebAddress) {
        let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/CallServer/CallServer.docc/AuthorizeCalls.md").standardized
        let text = try String(contentsOf: article, encoding: .utf8)
        let example = try #require(text.split(separator: "```python\n").last?.split(separator: "```").first)
        let start = "        if question[\"type\"] == \"session.open\":\n"
        #expect(example.contains(start))
        let fault = """
                    user = question.get("user") or question.get("caller")
                    if "\(failing)" and user.startswith("\(failing)"): return self.send_error(\(status))

            """
        let code = example.replacing(start, with: fault + start)
        try FileManager.default.createDirectory(atPath: world.folder, withIntermediateDirectories: true)
        let (script, secret) = (world.folder + "/backend.py", world.folder + "/secret")
        try Data(code.utf8).write(to: URL(fileURLWithPath: script))
        try Data("\(Self.secret)\n".utf8).write(to: URL(fileURLWithPath: secret))
        let program = try world.start("/usr/bin/python3", [script, secret, "0"])
        let port = try await program.output.first("the port") { $0 }
        return (program, try #require(WebAddress("http://127.0.0.1:\(port)/authorize")))
    }

    private func server(
        _ address: WebAddress, secret: String = secret, includesSessions: Bool = false, allowsOnFailure: Bool = false
    ) async throws -> CallServer {
        var configuration = AuthorizationConfiguration(
            address: address, secrets: [try #require(WebhookSecret(secret))])
        configuration.policy.includesSessions = includesSessions
        configuration.policy.allowsOnFailure = allowsOnFailure
        // Longer than a backend takes on a busy machine: 800 ms are the default.
        configuration.policy.timeout = .seconds(20)
        return try await world.startServer { [configuration] in $0.authorization = configuration }
    }

    private func questions(_ server: CallServer, _ result: String) async throws -> Bool {
        try await HTTPAnswer.curl(server, "/metrics").body.contains(
            "reveille_authorization_questions_total{result=\"\(result)\"} 1\n")
    }

    @Test("allows a call under another name, and refuses one with its reason")
    func example() async throws {
        let (_, address) = try await backend()
        let server = try await server(address)
        let (alice, bob) = (
            try await world.onlinePhone("alice", at: server.address),
            try await world.onlinePhone("bob", at: server.address)
        )
        _ = try await world.onlinePhone("carol", at: server.address)
        let call = try await alice.connects(to: bob)
        #expect(try await bob.state(.connected, of: call).fromName == "Alice A.")
        let refusal = await #expect(throws: (any Error).self) {
            _ = try await alice.softphone.call(.user("carol"))
        }
        #expect("\(try #require(refusal))".contains("Carol is away."))
        for result in ["allowed", "denied"] { #expect(try await questions(server, result)) }
    }

    @Test(
        "that is dead is a problem, and the server is unready if it refuses every call then", arguments: [false, true])
    func dead(allowsOnFailure: Bool) async throws {
        // Nobody listens there.
        let address = try #require(WebAddress("http://127.0.0.1:1/authorize"))
        let server = try await server(address, allowsOnFailure: allowsOnFailure)
        let alice = try await world.onlinePhone("alice", at: server.address)
        #expect(try await HTTPAnswer.curl(server, "/readyz").body == "ready")
        _ = try? await alice.softphone.call(.user("bob"))
        let readiness = try await HTTPAnswer.curl(server, "/readyz")
        #expect(readiness.status == (allowsOnFailure ? 200 : 503))
        #expect(readiness.body.contains("authorization: the backend at authorize.url does not answer: "))
        let metrics = try await HTTPAnswer.curl(server, "/metrics").body
        #expect(metrics.contains("\nreveille_problems{problem=\"authorization_down\"} 1\n"))
        let check = try await world.reveille("check")
        #expect(check.ending == .exit(2) && check.output.contains("authorization: the backend at authorize.url"))
    }

    @Test("that refuses everybody with a status is a problem until it decides")
    func wrongURL() async throws {
        let (_, address) = try await backend(failing: "u", status: 404)
        let server = try await server(address)
        for name in ["u1", "u2", "u3"] {
            let phone = try await world.onlinePhone(name, at: server.address)
            _ = await #expect(throws: (any Error).self) { _ = try await phone.softphone.call(.user("bob")) }
        }
        let readiness = try await HTTPAnswer.curl(server, "/readyz")
        #expect(readiness.status == 200)
        #expect(
            readiness.body.contains(
                "critical: authorization: the backend at authorize.url refuses every new call with the status 404"))
        let alice = try await world.onlinePhone("alice", at: server.address)
        _ = try? await alice.softphone.call(.user("bob"))
        #expect(try await HTTPAnswer.curl(server, "/readyz").body == "ready")
    }

    @Test("that fails about every call of the only caller is a problem until it decides", arguments: [404, 500])
    func oneCaller(status: Int) async throws {
        let (_, address) = try await backend(failing: "u", status: status)
        let server = try await server(address)
        let phone = try await world.onlinePhone("u1", at: server.address)
        for _ in 0..<5 {
            _ = await #expect(throws: (any Error).self) { _ = try await phone.softphone.call(.user("bob")) }
        }
        let readiness = try await HTTPAnswer.curl(server, "/readyz")
        #expect(readiness.status == 200 && readiness.body.contains("critical: authorization: "))
        #expect(
            try await HTTPAnswer.curl(server, "/metrics").body.contains(
                "\nreveille_problems{problem=\"authorization_failing\"} 1\n"))
        let alice = try await world.onlinePhone("alice", at: server.address)
        _ = try? await alice.softphone.call(.user("bob"))
        #expect(try await HTTPAnswer.curl(server, "/readyz").body == "ready")
    }

    @Test("allows a session, refuses another with its reason, and is not asked after a reload without sessions")
    func sessions() async throws {
        let (program, address) = try await backend()
        let server = try await server(address, includesSessions: true)
        _ = try await world.onlinePhone("alice", at: server.address)
        let refusal = await #expect(throws: (any Error).self) {
            _ = try await world.phone("mallory", at: server.address).softphone.connect()
        }
        #expect("\(try #require(refusal))".contains("The account is closed."))
        for result in ["allowed", "denied"] { #expect(try await questions(server, result)) }
        #expect(
            try await HTTPAnswer.curl(server, "/metrics").body.contains(
                "reveille_session_opens_total{result=\"denied\"} 1\n"))
        await program.abandon()
        let failure = await #expect(throws: (any Error).self) {
            _ = try await world.phone("bob", at: server.address).softphone.connect()
        }
        #expect("\(try #require(failure))".contains("The session cannot be authorized right now"))
        var reload = ServerReload()
        reload.authorization = AuthorizationConfiguration(
            address: address, secrets: [try #require(WebhookSecret(Self.secret))])
        try await server.reload(reload)
        _ = try await world.onlinePhone("mallory", at: server.address)
    }

    @Test("that is not there, or does not know the signature, leaves the policy to decide until it is back")
    func failures() async throws {
        let (program, address) = try await backend()
        let server = try await server(address, secret: WebhookSecret.make())
        let (alice, bob) = (
            try await world.onlinePhone("alice", at: server.address),
            try await world.onlinePhone("bob", at: server.address)
        )
        let refusal = await #expect(throws: (any Error).self) { _ = try await alice.softphone.call(.user("bob")) }
        #expect("\(try #require(refusal))".contains("cannot be authorized"))
        #expect(try await questions(server, "failed"))
        await program.abandon()
        var reload = ServerReload()
        let secret = try #require(WebhookSecret(Self.secret))
        var configuration = AuthorizationConfiguration(address: address, secrets: [secret])
        configuration.policy.allowsOnFailure = true
        reload.authorization = configuration
        try await server.reload(reload)
        _ = try await alice.connects(to: bob)
    }

    @Test("that refuses one user's calls, or fails about them, decides about those of others", arguments: [403, 500])
    func oneUser(status: Int) async throws {
        let isRefusal = status == 403
        let (_, address) = try await backend(failing: "mallory", status: status)
        // What the backend has refused is not allowed, whatever is allowed when it fails.
        let server = try await server(address, allowsOnFailure: isRefusal)
        let (alice, bob, mallory) = (
            try await world.onlinePhone("alice", at: server.address),
            try await world.onlinePhone("bob", at: server.address),
            try await world.onlinePhone("mallory", at: server.address)
        )
        for _ in 0..<6 {
            let refusal = await #expect(throws: (any Error).self) { _ = try await mallory.softphone.call(.user("bob")) }
            let words = isRefusal ? "The call is not allowed." : "cannot be authorized"
            #expect("\(try #require(refusal))".contains(words))
        }
        _ = try await alice.connects(to: bob)
        #expect(try await questions(server, "allowed"))
        #expect(
            try await HTTPAnswer.curl(server, "/metrics").body.contains(
                "reveille_authorization_circuit_open{question=\"invite\"} 0\n"))
    }

    @Test("SIGHUP switches the authorization of sessions on and off")
    func sessionsReloaded() async throws {
        let (_, hook) = try await backend()
        func configure(_ includesSessions: Bool) throws {
            let text = """
                authorize.url: \(hook.text)
                authorize.secret_file: \(world.folder)/secret
                authorize.sessions: \(includesSessions)
                authorize.timeout_ms: 5000

                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: world.folder + "/reveille.yaml"))
        }
        try configure(false)
        let (program, address) = try await world.serve()
        _ = try await world.onlinePhone("mallory", at: address)
        for includesSessions in [true, false] {
            try configure(includesSessions)
            let start = program.errors.count
            program.send(SIGHUP)
            try await program.errors.first("the change is taken over", from: start) {
                $0.contains(#""setting":"authorize.sessions""#) ? true : nil
            }
            guard includesSessions else { break }
            let refusal = await #expect(throws: (any Error).self) {
                _ = try await world.phone("mallory", at: address).softphone.connect()
            }
            #expect("\(try #require(refusal))".contains("The account is closed."))
            _ = try await world.onlinePhone("alice", at: address)
        }
        _ = try await world.onlinePhone("mallory", at: address)
    }

    @Test("that fails about sessions is still asked about calls")
    func separateCircuits() async throws {
        let (_, address) = try await backend(failing: "mallory")
        let server = try await server(address, includesSessions: true)
        let (alice, bob) = (
            try await world.onlinePhone("alice", at: server.address),
            try await world.onlinePhone("bob", at: server.address)
        )
        func metrics(have line: String) async throws -> Bool {
            try await HTTPAnswer.curl(server, "/metrics").body.contains("reveille_authorization_\(line)\n")
        }
        for number in 0..<5 {
            let mallory = try await world.phone("mallory\(number)", at: server.address).softphone
            // It repeats a refused session.open.
            Task { _ = try? await mallory.connect() }
        }
        _ = try await eventually("the circuit of sessions opens") {
            try await metrics(have: #"circuit_open{question="session"} 1"#) ? true : nil
        }
        _ = try await alice.connects(to: bob)
        #expect(try await metrics(have: #"circuit_open{question="invite"} 0"#))
        #expect(try await !metrics(have: "duration_seconds_count 0"))
    }
}
