import CallServer
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("The commands for operators", .world)
struct OperationsCommandTests {
    private func ask(_ line: String) async throws -> Program.Result {
        try await Program.run(
            Program.reveille,
            line.split(separator: " ").map(String.init) + ["--server", world.folder + "/admin.sock"])
    }

    @Test("a live call is ended for both sides, once, and its story names the administrator")
    func endCall() async throws {
        let server = try await world.startServer()
        let (alice, bob, call) = try await world.liveCall(at: server.address)
        let ended = try await ask("calls end \(call)")
        #expect(ended.ending == .exit(0), "\(ended.errors)")
        #expect(ended.output == "call \(call) ended")
        for phone in [alice, bob] { #expect(try await phone.ended(call).reason == .admin) }
        try await ask("calls end \(call)").expectFailure(1, lines: 1)
        let unknown = try await ask("calls end \(UUID().uuidString)")
        #expect(unknown.ending == .exit(1))
        #expect(unknown.errors.hasSuffix("; see reveille calls list --live"))

        let shown = try await ask("calls show \(call)")
        #expect(shown.ending == .exit(0), "\(shown.errors)")
        #expect(shown.output.contains("an administrator ended the call") || shown.output.contains("An administrator"))
        // The folder gives the same story.
        let stored = try await Program.reveille("calls", "show", "\(call)", "--data", world.folder, "--output", "json")
        #expect(try await ask("calls show \(call) --output json").output == stored.output)
        let audit = try await world.reveille("pushes audit --output jsonl")
        #expect(try await ask("pushes audit --output jsonl").output == audit.output)
    }

    @Test("a dropped session reconnects as a new one")
    func dropSession() async throws {
        let server = try await world.startServer()
        let bob = try await world.onlinePhone("bob", at: server.address)
        let mark = bob.events.count
        let device = bob.softphone.configuration.session.device.id
        let dropped = try await ask("sessions drop bob \(device)")
        #expect(dropped.ending == .exit(0), "\(dropped.errors)")
        let opened = try await bob.events.first("bob comes back", from: mark) { $0.opened }
        #expect(!opened.resumed)
        let none = try await ask("sessions drop carol \(device)")
        #expect(none.ending == .exit(1))
        #expect(none.errors.hasSuffix("; see reveille sessions list"))
    }
}
