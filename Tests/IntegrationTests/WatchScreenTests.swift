import AdminProtocol
import CallVocabulary
import Foundation
import TestCleanup
import Testing

@Suite("calls watch on a terminal", .world)
struct WatchScreenTests {
    private static let calls = [
        ScriptedCalls.call(1, .ringing, from: "alice", to: "bob", age: 3),
        ScriptedCalls.call(2, .waking, from: "carol", to: "dave", age: 70),
        ScriptedCalls.call(3, .connected, from: "erin", to: "frank", age: 4000),
    ]

    private static func command(_ rest: String = "") -> String {
        "\(Program.reveille) calls watch --data \(world.folder) \(rest)"
    }

    private static func watch(
        _ rest: String = "", width: Int = 80, height: Int = 24
    ) async throws -> (ScriptedServer, Tmux) {
        let server = try await ScriptedServer.start(in: world.folder, ScriptedCalls.picture(calls))
        let terminal = try await Tmux.start(width: width, height: height)
        try await terminal.run(command(rest))
        return (server, terminal)
    }

    /// The line of the selected call, which tmux shows reversed.
    private static func rows(_ screen: String) -> [Substring] {
        screen.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(3).prefix { !$0.isEmpty }
    }

    @Test("shows calls as they begin and end, on 80 by 24 and on 100 by 30", arguments: [(80, 24), (100, 30)])
    func live(width: Int, height: Int) async throws {
        let (server, terminal) = try await Self.watch(width: width, height: height)
        let screen = try await terminal.shows("3 live: 1 waking, 1 ringing, 1 connected", "0.9.0 on node-1")
        let lines = screen.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == height)
        #expect(lines.last?.hasPrefix("q quit  ? help  Enter story  e end") == true)
        #expect(Self.rows(screen).map { $0.prefix(9) } == ["waking   ", "ringing  ", "connected"])
        #expect(try await terminal.value("alternate_on") == "1")
        #expect(try await terminal.value("cursor_flag") == "0")

        server.tell([ScriptedCalls.call(4, .routing, from: "gina", to: "hank", age: 0)])
        try await terminal.shows("4 live", "gina")
        server.tell([ScriptedCalls.call(4, .ended, from: "gina", to: "hank", reason: .declined)])
        try await terminal.shows("3 live", "ended", "declined")
        try await terminal.shows("the ended call leaves the screen") { !$0.contains("gina") }
        try await terminal.press("q")
        try await terminal.shows("the shell is back") { !$0.contains("live") && $0.contains("$") }
    }

    @Test("sorts, filters and keeps the selection on its call")
    func keys() async throws {
        let (server, terminal) = try await Self.watch("--sort from")
        try await terminal.shows("rows by caller") { screen in
            Self.rows(screen).map { $0.dropFirst(18).prefix(5) } == ["alice", "carol", "erin "]
        }
        try await terminal.press("S")
        try await terminal.shows("rows the other way round") { screen in
            Self.rows(screen).map { $0.dropFirst(18).prefix(5) } == ["erin ", "carol", "alice"]
        }
        try await terminal.press("s", "S")
        try await terminal.shows("sort: to", "TO▲")
        // Selects alice's call, which does not stay on top.
        try await terminal.press("s", "s", "s", "Home", "Down", "Up")
        try await terminal.shows("sort: age")
        server.tell([ScriptedCalls.call(5, .ringing, from: "zoe", to: "yves", age: 0)])
        try await terminal.shows("4 live", "zoe")
        try await terminal.press("e")
        try await terminal.shows("End the call from alice to bob (ringing")
        try await terminal.press("n")
        try await terminal.shows("not ended")
        try await terminal.press("/", "r", "o", "l")
        try await terminal.shows("only carol's call is left") { screen in
            screen.contains("filter: rol") && Self.rows(screen).count == 1 && screen.contains("carol")
        }
        try await terminal.press("Escape")
        try await terminal.shows("all four are back") { Self.rows($0).count == 4 }
        #expect(server.ended.entries.isEmpty)
    }

    @Test("shows a call's story, and ends the call after y")
    func storyAndEnd() async throws {
        let (server, terminal) = try await Self.watch("--sort age")
        try await terminal.shows("3 live")
        try await terminal.press("Enter")
        try await terminal.shows("call \(ScriptedCalls.id(1))", "alice → bob", "push sent", "0.900 s  ringing")
        server.tell([ScriptedCalls.call(1, .answered, from: "alice", to: "bob", age: 4)])
        try await terminal.shows("alice → bob  answered", "0.900 s  answered")
        try await terminal.press("Escape", "e")
        try await terminal.shows("End the call from alice to bob (answered")
        try await terminal.press("y")
        try await terminal.shows("ended the call from alice to bob", "admin", "2 live")
        #expect(server.ended.entries == [ScriptedCalls.id(1)])
    }

    @Test("continues without the server, says so, and recovers by itself")
    func restart() async throws {
        let first = try await ScriptedServer.start(in: world.folder, ScriptedCalls.picture(Self.calls))
        let terminal = try await Tmux.start()
        try await terminal.run(Self.command())
        try await terminal.shows("3 live", "alice")
        await first.stop()
        try await terminal.shows("server gone since", "reconnecting…", "alice")
        let second = try await ScriptedServer.start(
            in: world.folder,
            ScriptedCalls.picture([ScriptedCalls.call(7, .ringing, from: "gina", to: "hank")], version: "1.0.0"))
        atEnd { await second.stop() }
        let screen = try await terminal.shows("1 live", "gina", "back after", "version 1.0.0")
        #expect(!screen.contains("alice"))
        #expect(screen.contains("reveille 1.0.0 on node-1"))
    }

    @Test("restores the terminal on q, SIGTERM, SIGINT and SIGHUP")
    func restoration() async throws {
        _ = try await ScriptedServer.start(in: world.folder, ScriptedCalls.picture(Self.calls))
        let terminal = try await Tmux.start()
        try await terminal.run("stty -a > \(world.folder)/before")
        for (number, end) in ["q", "TERM", "INT", "HUP"].enumerated() {
            let pid = "\(world.folder)/pid\(number)"
            try await terminal.run("sh -c 'echo $$ > \(pid); exec \(Self.command())'; echo over$?=\(number)")
            try await terminal.shows("3 live")
            if end == "q" {
                try await terminal.press("q")
            } else {
                let text = try String(contentsOfFile: pid, encoding: .utf8)
                let process = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
                kill(process, end == "TERM" ? SIGTERM : end == "INT" ? SIGINT : SIGHUP)
            }
            try await terminal.shows("over0=\(number)")
            #expect(try await terminal.value("alternate_on") == "0", "\(end)")
            #expect(try await terminal.value("cursor_flag") == "1", "\(end)")
            let after = "\(world.folder)/after\(number)"
            try await terminal.run("stty -a > \(after).new; mv \(after).new \(after)")
            let settings = try await eventually("the settings are written") {
                try? String(contentsOfFile: after, encoding: .utf8)
            }
            let before = try String(contentsOfFile: world.folder + "/before", encoding: .utf8)
            #expect(settings == before, "\(end)")
            #expect(before.contains(" icanon"))
        }
    }

    @Test("Ctrl-Z returns to the shell, and fg restores the screen")
    func suspension() async throws {
        _ = try await ScriptedServer.start(in: world.folder, ScriptedCalls.picture(Self.calls))
        let terminal = try await Tmux.start()
        try await terminal.run("set -m")
        try await terminal.run(Self.command())
        try await terminal.shows("3 live")
        try await terminal.press("C-z")
        try await terminal.shows("the shell says that it is stopped") {
            $0.contains("Stopped") && !$0.contains("3 live")
        }
        #expect(try await terminal.value("alternate_on") == "0")
        try await terminal.run("stty -a | grep -c ' icanon'")
        try await terminal.shows("the terminal is the shell's") { $0.contains("\n1\n") }
        try await terminal.run("fg")
        try await terminal.shows("3 live", "q quit")
        #expect(try await terminal.value("alternate_on") == "1")
        try await terminal.press("q")
        try await terminal.shows("the shell is back") { !$0.contains("3 live") }
    }

    @Test("redraws when the terminal changes its size")
    func resize() async throws {
        let (_, terminal) = try await Self.watch()
        try await terminal.shows("3 live", "REASON")
        try await terminal.tmux("resize-window", "-x", "45", "-y", "12")
        try await terminal.shows("the narrow table") { screen in
            !screen.contains("REASON") && screen.contains("3 live") && screen.contains("erin")
                && screen.split(separator: "\n", omittingEmptySubsequences: false).count == 12
        }
        try await terminal.tmux("resize-window", "-x", "120", "-y", "30")
        try await terminal.shows("REASON", "wakes long")
    }

    @Test("without a server, a terminal or permission it ends with 2 and the reason; with --wait it waits")
    func exits() async throws {
        let terminal = try await Tmux.start()
        try await terminal.run(Self.command() + "; echo exit$?")
        try await terminal.shows("no server is running on", "exit2")
        try await terminal.run("clear; TERM=dumb \(Self.command()); echo exit$?")
        try await terminal.shows("that can place text", "exit2")
        try await world.reveille("calls watch").expectFailure(
            2, "calls watch needs a terminal; for scripts there is --once")
        try await terminal.run("clear; " + Self.command("--wait") + "; echo exit$?")
        try await terminal.shows("waiting for the server…")
        let server = try await ScriptedServer.start(in: world.folder, ScriptedCalls.picture(Self.calls))
        try await terminal.shows("3 live")
        await server.stop()
        var picture = ScriptedCalls.picture()
        picture.refusal = AdminError(AdminRefusal(.conflict, "not with this token"))
        _ = try await ScriptedServer.start(in: world.folder, picture)
        try await terminal.shows("reveille: not with this token", "exit2")
    }

    @Test("ten thousand live calls with hundreds of changes a second stay responsive")
    func tenThousand() async throws {
        let calls = (0..<10_000).map { number in
            ScriptedCalls.call(
                number, number % 3 == 0 ? .ringing : .connected, from: Handle(stringLiteral: "caller-\(number)"),
                to: "callee",
                age: Int64(10 + number % 3000))
        }
        let server = try await ScriptedServer.start(in: world.folder, ScriptedCalls.picture(calls))
        let terminal = try await Tmux.start()
        try await terminal.run(Self.command())
        try await terminal.shows("the whole picture", within: .seconds(120)) { $0.contains("10000 live") }
        let changing = Task {
            for round in 0..<400 {
                try await Task.sleep(for: .milliseconds(250))
                server.tell(
                    (0..<75).map { number in
                        ScriptedCalls.call(
                            (round * 75 + number) % 10_000, round % 2 == 0 ? .answered : .connected,
                            from: Handle(stringLiteral: "caller-\(number)"), to: "callee", age: 20)
                    })
            }
        }
        defer { changing.cancel() }
        let clock = ContinuousClock()
        let time = try await clock.measure {
            for _ in 0..<5 {
                try await terminal.press("s")
                try await terminal.press("End")
                try await terminal.press("Home")
            }
            try await terminal.press("/", "9", "9", "9", "9")
            try await terminal.shows("the filtered call") { Self.rows($0).count == 1 && $0.contains("9999") }
        }
        #expect(time < .seconds(20))
    }
}
