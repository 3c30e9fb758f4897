import CallCore
import CallServer
import CallStore
import CallVocabulary
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("The Python client", .world, .timeLimit(.minutes(2)))
struct PythonClientTests {
    @Test("makes both sides of a call, resumes after a lost connection, and gets refusals with a message")
    func call() async throws {
        let server = try await world.startServer()
        let result = try await Program.script(
            "python_client.py", "ws://\(server.address)", "call", try await world.token("alice"),
            try await world.token("bob"))
        #expect(result.ending == .exit(0), "\(result.errors)")
        #expect(try world.reader().calls().map(\.endReason) == [.hangup])
    }

    @Test("reports the push that woke it by HTTP, and answers with only the push's wake token")
    func woken() async throws {
        let (simulator, server) = try await world.startPushing()
        let handset = try await world.handset(on: simulator)
        let bob = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"), sdp: .text("offer"))
        let push = try await handset.push(of: call)
        let token = try #require(push.wakeToken)
        let script = try world.start(
            "/usr/bin/python3",
            [
                Program.scripts + "/python_client.py", "ws://\(server.address)", "woken", token,
                push.push.description, call.description, bob.softphone.configuration.session.device.id.description,
            ], environment: Program.python)
        _ = try await alice.state(.answered, of: call)
        try await alice.softphone.connected(call)
        _ = try await alice.state(.connected, of: call)
        #expect(try await alice.hangUp(call) == .hangup)
        #expect(try await script.ending() == .exit(0), "\(script.errors.entries)")
        try await world.push("is reported", of: call) { $0.report == .reported }
    }
}
