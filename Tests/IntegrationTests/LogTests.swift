import CallServer
import CallVocabulary
import Foundation
import Glibc
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("The log of a running server", .world)
struct LogTests {
    @Test("at its lowest level contains no secret of complete calls with pushes, and valid and invalid tokens")
    func secrets() async throws {
        _ = try await world.startSimulator()
        let (program, address) = try await world.serve("--push-sim", "--log-level", "trace")
        let marker = "5ec2e7c0ffee5ec2e7"
        let bob = try await world.sleepingPhone("bob", at: address)
        let alice = try await world.phone("alice", at: address, push: [.voip("0011223344\(marker)")])
        let opened = try await alice.softphone.connect()
        let call = try await alice.softphone.call(.user("bob"), sdp: .text("offer \(marker)"))
        let push = try await bob.woken()
        try await bob.rings(call)
        try await bob.softphone.answer(call, sdp: .text("answer \(marker)"))
        _ = try await alice.state(.answered, of: call)
        try await alice.hangUp(call)

        let wrong = try await world.token("mallory") + marker
        let mallory = try await world.phone("mallory", at: address) { $0.token = .fixed(wrong) }
        await #expect(throws: (any Error).self) { try await mallory.softphone.connect() }
        _ = try await Program.run(
            "/usr/bin/curl",
            [
                "--silent", "--max-time", "10", "-H", "Authorization: Bearer \(wrong)",
                "http://\(address)/v1/calls/\(call)?q=\(marker)",
            ])

        program.send(SIGTERM)
        let result = try await program.result()
        #expect(result.ending == .exit(0))
        let text = result.errors
        #expect(text.contains("\"message\":\"listening\""))
        #expect(text.contains("\"message\":\"stopped\""))
        for line in program.errors.entries {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["time"] is String && object?["level"] is String, "\(line)")
        }
        var secrets = [marker, wrong, opened.resumeToken, bob.token, try #require(push.wakeToken)]
        for file in ["client-token.key", "wake-token.key"] {
            let secret = try String(contentsOfFile: "\(world.folder)/\(file)", encoding: .utf8)
            secrets.append(secret.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        // The header that all of these tokens begin with.
        secrets.append("eyJhbGciOi")
        for secret in secrets {
            #expect(secret.count >= 10)
            #expect(!text.contains(secret), "\(secret)")
        }
    }

    /// The messages with the call's id, in order.
    private static func lines(_ program: Program, of call: CallID) -> [[String: String]] {
        program.errors.entries.compactMap { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            guard object?["call_id"] as? String == "\(call)" else { return nil }
            return object?.compactMapValues { $0 as? String }
        }
    }

    private static func ended(_ program: Program, _ call: CallID) async throws {
        try await program.errors.first("the line of the end") { line -> Bool? in
            line.contains(#""message":"call ended""#) && line.contains("\(call)") ? true : nil
        }
    }

    /// A call that wakes bob, is answered, and hung up by alice; then bob sleeps again.
    private static func call(_ alice: Phone, _ bob: IPhone) async throws -> CallID {
        let call = try await alice.softphone.call(.user("bob"))
        try await alice.isAnswered(by: bob, call)
        try await alice.softphone.hangup(call)
        try await bob.asleep()
        return call
    }

    @Test("has one line for each step of a call, with its id; reveille log level changes the visible lines")
    func transitions() async throws {
        _ = try await world.startSimulator()
        let (program, address) = try await world.serve("--push-sim")
        let bob = try await world.sleepingPhone("bob", at: address)
        let alice = try await world.onlinePhone("alice", at: address)
        func setLevel(_ level: String) async throws {
            let result = try await world.output("log level \(level)")
            #expect(result == "log level \(level)")
        }
        let steps = ["routing", "waking", "ringing", "answered", "connected", "ended"].map { "call \($0)" }

        let usual = try await Self.call(alice, bob)
        try await Self.ended(program, usual)
        let lines = Self.lines(program, of: usual)
        #expect(lines.compactMap { $0["message"] } == steps)
        #expect(lines.allSatisfy { $0["from"] == "alice" && $0["to"] == "bob" && $0["level"] == "info" })
        #expect(lines.last?["reason"] == "hangup")

        try await setLevel("error")
        let silent = try await Self.call(alice, bob)
        try await setLevel("debug")
        let full = try await Self.call(alice, bob)
        try await Self.ended(program, full)
        #expect(Self.lines(program, of: silent).isEmpty)
        let messages = Self.lines(program, of: full).compactMap { $0["message"] }
        #expect(messages.filter { $0.hasPrefix("call ") } == steps)
        #expect(messages.count { $0 == "leg ringing" } == 1)
        // Two changes in one commit are one line.
        let pushed = messages.filter { $0.hasPrefix("push ") }.flatMap {
            $0.dropFirst("push ".count).split(separator: ", ")
        }
        #expect(pushed.sorted() == ["accepted", "acted", "intended", "reported", "sent"], "\(messages)")
    }

    @Test("--log-format text is human-readable")
    func formats() async throws {
        let program = try world.start("serve --port 0 --log-format text")
        let line = try await program.errors.first("the server listens") { $0.contains(" listening ") ? $0 : nil }
        #expect(line.contains(" info     listening address=127.0.0.1:"))
        #expect(!line.contains("\u{1B}"))
    }
}
