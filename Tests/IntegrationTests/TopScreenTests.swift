import AdminProtocol
import CallVocabulary
import Testing

@Suite("top on a terminal", .world)
struct TopScreenTests {
    @Test("shows changing statistics, switches its interval, and continues without the server")
    func live() async throws {
        let picture = ScriptedCalls.picture()
        let server = try await ScriptedServer.start(in: world.folder, picture)
        let terminal = try await Tmux.start()
        try await terminal.run("\(Program.reveille) top --data \(world.folder) --interval 2s")
        try await terminal.shows(
            "12 live: 12 ringing", "2.5 new/s", "invite → ringing", "222", "hangup", "apns sandbox", "ready")
        #expect(server.intervals.entries == [2000])
        let problem = ServerProblem(.storeFailing, isUnready: true, "the disk is full")
        server.tell(ScriptedCalls.stats(picture.info, live: 31, problems: [problem]))
        try await terminal.shows("31 live", "the disk is full")
        try await terminal.press("+")
        try await terminal.shows("every 5 s")
        try await server.intervals.first("it subscribes anew") { $0 == 5000 ? true : nil }
        try await terminal.shows("the connection is as good as before") { !$0.contains("server gone") }
        try await terminal.press("?")
        try await terminal.shows("clear the rate history")
        try await terminal.press("?")
        await server.stop()
        try await terminal.shows("server gone since", "31 live")
        _ = try await ScriptedServer.start(in: world.folder, ScriptedCalls.picture(version: "1.0.0"))
        try await terminal.shows("back after", "12 live")
        try await terminal.press("q")
        try await terminal.shows("the shell is back") { !$0.contains("live") }
        #expect(try await terminal.value("alternate_on") == "0")
    }
}
