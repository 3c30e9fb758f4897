import CallCore
import CallServer
import CallStore
import CallVocabulary
import Foundation
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import Testing

/// ``WatchScreenTests`` uses a scripted server for its cases; this suite uses a real one.
@Suite("calls watch with a server and phones", .world, .serialized, .timeLimit(.minutes(2)))
struct LiveWatchTests {
    private static func watch() async throws -> Tmux {
        let terminal = try await Tmux.start()
        try await terminal.run("\(Program.reveille) calls watch --data \(world.folder)")
        return terminal
    }

    @Test("shows a call that wakes a phone, rings, is answered and talks; ended on the screen, its reason is admin")
    func wholeCall() async throws {
        let simulator = try await world.startSimulator()
        let (_, address) = try await world.serve("--push-sim")
        let bob = try await world.sleepingPhone("bob", at: address)
        let alice = try await world.onlinePhone("alice", at: address)
        let terminal = try await Self.watch()
        try await terminal.shows("0 live", "no live calls", address)

        await simulator.inject(PushFault(.deliverLate(.seconds(3)), count: 1))
        let call = try await alice.softphone.call(.user("bob"), ringTime: .seconds(60))
        try await terminal.shows("1 live: 1 waking", "waking  ", "alice  ", "bob  ")
        try await terminal.shows("1 live: 1 ringing", "ringing  ", "1/1")
        try await terminal.press("Enter")
        try await terminal.shows(
            "call \(call)", "alice → bob  ringing", "invited", "push accepted by the provider", "phone woken")
        try await bob.softphone.answer(call)
        try await alice.talks(with: bob, in: call)
        try await terminal.shows("alice → bob  connected", "answered", "caller has media", "callee has media")

        try await terminal.press("Escape")
        try await terminal.shows("1 live: 1 connected", "q quit")
        try await terminal.press("e")
        try await terminal.shows("End the call from alice to bob (connected")
        #expect(try world.reader().calls().map(\.state) == [.connected])
        try await terminal.press("y")
        try await terminal.shows("ended the call from alice to bob", "0 live", "admin")
        #expect(try await alice.ended(call).reason == .admin)
        #expect(try await bob.state(.ended, of: call).reason == .admin)
        #expect(try world.reader().calls().map(\.endReason) == [.admin])
        let shown = try await Program.reveille("calls", "show", "\(call)", "--data", world.folder)
        #expect(shown.output.contains("An administrator ended the call"))
    }

    @Test("the Up key of a phone brings back the line before, and the terminal echoes again when the phone is gone")
    func phoneHistory() async throws {
        _ = try await world.serve()
        let terminal = try await Tmux.start(width: 80, height: 24)
        try await terminal.run("\(Program.reveille) phone dora --data \(world.folder)")
        // The screen is shown without the blanks at the ends of its lines.
        try await terminal.shows("online as dora", "\n>")
        try await terminal.press("s", "t", "a", "t", "u", "s", "Enter")
        try await terminal.shows("> status", "no calls")
        try await terminal.press("Up")
        try await terminal.shows("the line is back") { $0.components(separatedBy: "> status").count == 3 }
        try await terminal.press("Enter")
        try await terminal.shows("it is carried out again") { $0.components(separatedBy: "no calls").count == 3 }
        try await terminal.press("q", "u", "i", "t", "Enter")
        try await terminal.shows("the prompt of the shell") { $0.split(separator: "\n").last == "$" }
        try await terminal.run("echo the shell is $((40 + 2))")
        try await terminal.shows("$ echo the shell is", "the shell is 42")
    }

    @Test("reports a killed server, and shows the same call after its restart")
    func killed() async throws {
        let (first, address) = try await world.serve()
        let alice = try await world.phone("alice", at: address)
        let carol = try await world.phone("carol", at: address)
        let call = try await alice.connects(to: carol)
        let terminal = try await Self.watch()
        try await terminal.shows("1 live: 1 connected", "alice  ", "carol  ")
        let marks = [alice, carol].map(\.events.count)
        #expect(try await first.end(by: SIGKILL) == .signal(SIGKILL))
        try await terminal.shows("server gone since", "reconnecting…", "connected  ", "carol  ")

        _ = try await world.serve(port: try World.port(of: address))
        try await terminal.shows("1 live: 1 connected", "back after", "restarted at", "carol  ")
        for (phone, mark) in zip([alice, carol], marks) {
            try await phone.events.first("the phone is back", from: mark) { $0.opened }
        }
        // It shows a call that has ended for six seconds.
        async let ended = terminal.shows("0 live", "ended  ", "hangup")
        #expect(try await carol.hangUp(call, seenBy: alice) == .hangup)
        _ = try await ended
        try await terminal.press("q")
        try await terminal.shows("the shell is back") { !$0.contains("live") && $0.contains("$") }
    }
}
