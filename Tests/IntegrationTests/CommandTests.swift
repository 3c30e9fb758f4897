import CallServer
import CallVocabulary
import EventLoop
import Foundation
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("The commands", .world)
struct CommandTests {
    @Test("from an empty folder to a call that woke a phone, and its ledger, only with reveille")
    func wholeWay() async throws {
        let simulator = try world.start("push-sim --port 0 --sandbox-port 0")
        try await simulator.errors.first("the simulator is ready") { $0.contains("ready") ? true : nil }
        let (server, address) = try await world.serve("--push-sim")
        let url = "ws://\(address)"
        let bob = try world.start("phone bob --asleep --auto-answer 0.1 --server \(url)")
        try await bob.output.first("bob is registered") { $0.contains("a push wakes this phone") ? true : nil }
        let script = world.folder + "/alice.txt"
        let orders =
            "# To bob, who sleeps.\ncall bob\nwait connected 20\nhold\nhangup\nwait ended 20\nhistory\nquit\n"
        try Data(orders.utf8).write(to: URL(fileURLWithPath: script))
        let alice = try world.start("phone alice --server \(url) --script \(script)")
        let result = try await alice.result()
        #expect(result.ending == .exit(0), "\(result.output)\n\(result.errors)")
        #expect(result.output.contains("waking bob's phone"))
        #expect(result.output.contains("connected with bob"))
        try await bob.output.first("bob hears the end") { $0.contains("ended: hangup by alice") ? true : nil }
        try await bob.output.first("bob sleeps again") { line in
            line.hasSuffix("  asleep; a push wakes this phone") ? true : nil
        }
        #expect(bob.output.entries.contains { $0.contains("push: alice calls") })
        for program in [bob, server, simulator] {
            #expect(try await program.end(by: SIGTERM) == .exit(0))
        }
        try await look()
    }

    @Test("commands on a data folder ask the server there, and say when none runs")
    func folder() async throws {
        let server = try await world.startServer()
        let (_, _, call) = try await world.liveCall(at: server.address)
        for line in ["calls list --live", "calls show \(call)", "pushes list", "devices list"] {
            let asked = try await world.reveille(line)
            #expect(asked.ending == .exit(0) && !asked.errors.contains("no server runs"), "\(line): \(asked.errors)")
        }
        await server.stop()
        for line in ["calls list --live", "calls show \(call)", "devices list"] {
            let read = try await world.reveille(line)
            #expect(read.ending == .exit(0), "\(line): \(read.errors)")
            #expect(read.errors.hasPrefix("no server runs on ") && read.errors.hasSuffix("stored last is shown"))
        }
        let shown = try await world.output("calls show \(call)")
        #expect(shown.contains("No server runs: the call was connected"))
    }

    @Test("a phone finds the server by its data folder, on any port, and names the address it tries")
    func findsServer() async throws {
        let (_, address) = try await world.serve()
        let phone = try await world.reveille("phone alice")
        #expect(phone.ending == .exit(0))
        #expect(phone.errors == "connecting to ws://\(address) (the server on \(world.folder))")
        #expect(phone.output.contains("online as alice"))
    }

    @Test("a missed call is announced by a push as in the tour: the phone was off, and shows it after its start")
    func missedCall() async throws {
        let simulator = try world.start("push-sim --port 0 --sandbox-port 0 --fcm-port 0")
        try await simulator.errors.first("the simulator is ready") { $0.contains("ready") ? true : nil }
        _ = try await world.serve("--push-sim")
        // The phone ends with its input, and is then off.
        let carol = ["phone", "carol", "--asleep", "--platform", "android"]
        #expect(try await Program.run(Program.reveille, carol + ["--data", world.folder]).ending == .exit(0))
        try await world.output("users set carol --missed-calls alert")
        let script = world.folder + "/alice.txt"
        try Data("call carol\nsleep 1\nhangup\nwait ended 20\n".utf8).write(to: URL(fileURLWithPath: script))
        let alice = try await world.reveille("phone alice --script \(script)")
        #expect(alice.ending == .exit(0), "\(alice.output)\n\(alice.errors)")
        let back = try world.start("phone carol --asleep --platform android --auto-answer 0.1")
        try await back.output.first("she sees it") { $0.contains("missed: alice, cancelled") ? true : nil }
        let pushes = try await world.reveille("pushes list --purpose missed_call --output json")
        #expect(try JSONObject(pushes.output).objects("pushes").count == 1)
    }

    @Test("a phone on a terminal shows events while it waits for a line")
    func terminal() async throws {
        let (server, address) = try await world.serve()
        try await Program.script(
            "terminal.py", "20", Program.reveille, "phone", "alice", "--data", world.folder, "--server",
            "ws://\(address)", "--", "online as alice", "status", "no calls", "help", "hangup", "nonsense",
            "no command", "quit")
        #expect(try await server.end(by: SIGTERM) == .exit(0))
    }

    /// Reads the store of one call from alice to bob, whom a push woke, without a server.
    private func look() async throws {
        let calls = try await world.json("calls list").objects("calls")
        #expect(calls.count == 1)
        #expect(calls.first?["reason"] as? String == "hangup")
        #expect(calls.first?["from"] as? String == "alice")
        #expect(calls.first?["to"] as? String == "bob")
        let id = try #require(calls.first?["call_id"] as? String)

        let show = try await world.output("calls show \(id)")
        #expect(show.contains("bob was woken by a push and answered after"))
        #expect(show.contains("push reported to the user"))
        let story = try await world.json("calls show \(id.uppercased())")
        #expect(story.objects("pushes").map { $0["report"] as? String } == ["reported"])
        #expect(story.objects("timeline").last?["step"] as? String == "ended")

        let pushes = try await world.json("pushes list --call \(id)").objects("pushes")
        #expect(pushes.map { $0["status"] as? String } == ["accepted"])

        let books = try await world.json("pushes audit")
        #expect(books["balanced"] as? Bool == true)
        #expect(books["intended"] as? Int == 1)
    }

    @Test("pushes audit exits with 1 and names the violated rule")
    func brokenLaw() async throws {
        let server = try await world.startServer()
        let (alice, _, call) = try await world.liveCall(at: server.address)
        try await alice.hangUp(call)
        // The running server merges the change into the database, with page checksums.
        let fix = try await Program.run(
            "/usr/bin/sqlite3", [world.folder + "/reveille.sqlite3", "UPDATE call SET end_reason = NULL"])
        #expect(fix.ending == .exit(0), "\(fix.errors)")
        await server.stop()
        let audit = try await world.reveille("pushes audit")
        #expect(audit.ending == .exit(1))
        #expect(audit.output.contains("BROKEN: 1 calls are ended without time or reason"))
        // Without the folder, the audit at the end is skipped.
        try FileManager.default.removeItem(atPath: world.folder)
    }

    @Test("a failed command of a phone's script ends the phone with exit code 1")
    func failingScript() async throws {
        let (_, address) = try await world.serve()
        for (number, orders) in ["call nobody\n", "hangup\n", "call bob\nsing\n", "wait connected 0\n"].enumerated() {
            let script = world.folder + "/script-\(number).txt"
            try Data(orders.utf8).write(to: URL(fileURLWithPath: script))
            let phone = try world.start("phone alice --server ws://\(address) --script \(script)")
            #expect(try await phone.result().ending == .exit(1), "\(orders)")
        }
    }

    @Test("a wrong command line has exit code 64, with the reason on standard error")
    func usage() async throws {
        try await Program.reveille("calls", "list", "--limit", "0").expectFailure(64, "Error: ")
    }

    @Test(
        "output into a closed pipe ends a command quietly, and output to a full disk with a message",
        arguments: [
            ("| true", "", "141"), ("> /dev/full", "No space left on device", "2"), (">&-", "Bad file descriptor", "2"),
        ])
    func unheard(redirection: String, words: String, code: String) async throws {
        // Bash provides the exit code of a pipe's first program.
        let line = "\(Program.reveille) config reference \(redirection); echo ${PIPESTATUS[0]} >&2"
        let result = try await Program.run("/bin/bash", ["-c", line])
        #expect(result.errorLines.last.map(String.init) == code)
        #expect(words.isEmpty ? result.errorLines.count == 1 : result.errors.contains(words))
    }

    @Test("the demo's output too")
    func unheardDemo() async throws {
        let result = try await Program.run("/bin/bash", ["-c", "\(Program.reveille) demo > /dev/full"])
        #expect(result.ending == .exit(2))
        #expect(result.errors.contains("No space left on device"), "\(result.errors)")
    }
}
