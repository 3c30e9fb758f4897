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
        try await Program.script(
            "python_client.py", "ws://\(server.address)", "call", try await world.token("alice"),
            try await world.token("bob"))
        #expect(try world.reader().calls().map(\.endReason) == [.hangup])
    }

    @Test("reports the push that woke it by HTTP, and answers with only the push's wake token")
    func woken() async throws {
        let woken = try await Woken.start("woken")
        let (alice, call) = (woken.alice, woken.call)
        _ = try await alice.state(.answered, of: call)
        try await alice.softphone.connected(call)
        _ = try await alice.state(.connected, of: call)
        #expect(try await alice.hangUp(call) == .hangup)
        #expect(try await woken.script.ending() == .exit(0), "\(woken.script.errors.entries)")
        try await world.push("is reported", of: call) { $0.report == .reported }
    }

    @Test("answers by HTTP before it has a session, and carries the call on in the session that follows")
    func native() async throws {
        let woken = try await Woken.start("native")
        let (alice, call) = (woken.alice, woken.call)
        _ = try await alice.event("bob's answer in his session") { event in
            event.call(call, in: .answered)?.sdp == .text("answer") ? true : nil
        }
        try await alice.softphone.connected(call)
        _ = try await alice.state(.connected, of: call)
        #expect(try await alice.ended(call).reason == .hangup)
        #expect(try await woken.script.ending() == .exit(0), "\(woken.script.errors.entries)")
        let presences = alice.events.entries.compactMap { event -> Bool? in
            if case .peer(let known) = event, known.id == call { known.peerAwaySince != nil } else { nil }
        }
        #expect(presences.prefix(2) == [true, false], "away until the session, and back with it")
        try await world.push("is reported", of: call) { $0.report == .reported }
    }
}

/// bob's phone, a Python program, is woken by a push for alice's call.
private struct Woken {
    let alice: Phone
    let call: CallID
    let script: Program

    static func start(_ scenario: String) async throws -> Woken {
        let (simulator, server) = try await world.startPushing()
        let handset = try await world.handset(on: simulator)
        let bob = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"), sdp: .text("offer"))
        let candidate = #"{"candidate": "candidate:1 1 UDP 2122260223 127.0.0.1 9 typ host", "sdpMid": "0"}"#
        alice.softphone.sendCandidates(
            CallCandidates(call: call, candidates: [RawJSON(bytes: Array(candidate.utf8))], isFinal: true))
        let push = try await handset.push(of: call)
        let script = try world.start(
            "/usr/bin/python3",
            [
                Program.scripts + "/python_client.py", "ws://\(server.address)", scenario, try #require(push.wakeToken),
                push.push.description, call.description, bob.softphone.configuration.session.device.id.description,
            ], environment: Program.python)
        return Woken(alice: alice, call: call, script: script)
    }
}
