import CallCore
import CallVocabulary
import Testing

@testable import reveille

@Suite("What the commands print of calls as they end in practice")
struct RecordedScenarioTests {
    @Test("the list of calls, on terminals of both widths and in a pipe", arguments: [80, 120, nil])
    func list(width: Int?) async throws {
        let folder = try Scenarios.Folder()
        let run = await CommandRun.of("calls list", data: folder.path, width: width)
        #expect(run.exit == 0)
        #expect(run.complaints == ["no server runs on \(folder.path): what was stored last is shown"])
        try Recording.expect(run.output, as: "calls-list-\(width.map(String.init) ?? "pipe").txt")
        if let width { #expect(run.output.allSatisfy { $0.columns <= width }) }
    }

    @Test("the story of each call", arguments: Scenarios.ids.keys.sorted(), [80, 120])
    func show(name: String, width: Int) async throws {
        let folder = try Scenarios.Folder()
        // Two ids begin with the same digits.
        let id = Scenarios.ids[name]!
        let run = await CommandRun.of("calls show \(id)", data: folder.path, width: width)
        #expect(run.exit == 0, "\(run.complaints)")
        try Recording.expect(run.output, as: "calls-show-\(name)-\(width).txt")
        #expect(run.output.allSatisfy { $0.columns <= width })
    }

    @Test(
        "lists for programs",
        arguments: [
            ("calls list --output json", "calls-list.json"),
            ("calls list --output jsonl --limit 3", "calls-list.jsonl"),
            ("calls show 4f60718a --output json", "calls-show-unreported.json"),
            ("pushes list --output json", "pushes-list.json"),
            ("pushes show 4f60718a --output json", "pushes-show.json"),
            ("pushes audit --output json", "pushes-audit.json"), ("devices list --output json", "devices-list.json"),
            ("devices show bob b0b00001 --output jsonl", "devices-show.jsonl"),
        ])
    func json(line: String, file: String) async throws {
        let folder = try Scenarios.Folder()
        try Recording.expect(await CommandRun.of(line, data: folder.path, width: 80).output, as: file)
    }

    @Test(
        "pushes and devices for people",
        arguments: [
            ("pushes list", "pushes-list"), ("pushes show 5a6b7c8d", "pushes-show-rejected"),
            ("pushes audit", "pushes-audit"), ("devices list", "devices-list"),
            ("devices show bob b0b00001", "devices-show"),
        ], [80, 120])
    func tables(command: (line: String, name: String), width: Int) async throws {
        let folder = try Scenarios.Folder()
        let run = await CommandRun.of(command.line, data: folder.path, width: width)
        try Recording.expect(run.output, as: "\(command.name)-\(width).txt")
    }

    @Test("the time at which the server gave a report up is not called one of a report")
    func unreported() async throws {
        let folder = try Scenarios.Folder()
        let run = await CommandRun.of("pushes show 4f60718a", data: folder.path)
        #expect(run.output.contains { $0.hasPrefix("report given up  ") }, "\(run)")
        #expect(!run.output.contains { $0.hasPrefix("reported ") }, "\(run)")
    }

    @Test("each filter of the list lets through what it says")
    func filters() async throws {
        let folder = try Scenarios.Folder()
        for (filter, names) in [
            ("--live", ["ringing"]), ("--user carol", ["group"]), ("--reason declined", ["declined"]),
            ("--state ringing", ["ringing"]), ("--since 2026-09-18T00:08:00Z", ["ringing", "no-media", "no-devices"]),
            ("--until 2026-09-18T09:02", ["woken", "answered-online"]), ("--since 5m", ["ringing"]),
            ("--since 2026-09-18T00:02:00Z --until 2026-09-18T00:03:00Z", ["declined"]),
            ("--user bob --state ended --since 51m", ["no-media"]),
        ] {
            let run = await CommandRun.of("calls list --output jsonl \(filter)", data: folder.path)
            let ids = run.output.compactMap { line in
                Scenarios.ids.first { line.contains("\"call_id\":\"\($0.value)") }?.key
            }
            #expect(ids == names, "\(filter)")
        }
    }

    @Test("a list that is cut short says so beside the results, and so does an empty one")
    func lengths() async throws {
        let folder = try Scenarios.Folder()
        let note = "no server runs on \(folder.path): what was stored last is shown"
        for format in ["table", "json", "jsonl"] {
            let cut = await CommandRun.of("calls list --limit 3 --output \(format)", data: folder.path)
            #expect(cut.complaints == ["3 shown; there are more: --limit 30", note])
            #expect(cut.exit == 0)
        }
        let all = await CommandRun.of("calls list --limit 11", data: folder.path)
        #expect(all.complaints == [note])
        #expect(all.output.count == 12)
        let none = await CommandRun.of("calls list --user nobody", data: folder.path)
        #expect(none.exit == 0)
        #expect(none.output.isEmpty)
        #expect(none.complaints == ["no such calls", note])
        let empty = await CommandRun.of("calls list --user nobody --output json", data: folder.path)
        #expect((empty.json as? [String: [String]]) == ["calls": []])
        let over = try Scenarios.Folder(Scenarios.declined.records)
        for (line, words) in [("calls list --live", "no such calls"), ("pushes list --open", "no such pushes")] {
            let none = await CommandRun.of(line, data: over.path)
            #expect(none.exit == 0 && none.output.isEmpty)
            #expect(none.complaints == [words, "no server runs on \(over.path): what was stored last is shown"])
        }
    }

    @Test("a beginning of an id that several have is an error that names them, and one nobody has is one too")
    func prefixes() async throws {
        let folder = try Scenarios.Folder()
        let several = await CommandRun.of("calls show 9eafb0c", data: folder.path)
        #expect(several.exit == 1)
        #expect(several.output.isEmpty)
        try #require(several.complaints.count == 3)
        #expect(several.complaints[0].contains("'9eafb0c' is the beginning or the end of several ids"))
        #expect(several.complaints[1].contains("9eafb0c1-6f2a-4d0b-9e55-3a1f8a1c2d3e  alice → bob"))
        let none = await CommandRun.of("calls show ffff", data: folder.path)
        #expect(none.exit == 1)
        #expect(none.complaints == ["reveille: no call ffff in \(folder.path); see reveille calls list"])
        // In any case of letters, with or without hyphens, and as it was cut by somebody else's program.
        for id in ["0B9C8E4E-6F2A-4D0B-9E55-3A1F8A1C2D3E", "0b9c8e4e6f2a4d0b9e553a1f8a1c2d3e", "0b9c8e4e-6f", "0b9c"] {
            #expect(await CommandRun.of("calls show \(id)", data: folder.path).exit == 0, "\(id)")
        }
    }

    @Test("an audit that fails says what is wrong, names the pushes that are overdue, and exits with 1")
    func brokenBooks() async throws {
        var draft = Scenarios.unreported
        draft.pushes[0].status = .sent
        draft.pushes[0].report = .awaited
        draft.pushes[0].reportDueAt = draft.at(10_000)
        draft.call.endReason = nil
        let folder = try Scenarios.Folder(draft.records)
        let run = await CommandRun.of("pushes audit", data: folder.path, width: 80)
        #expect(run.exit == 1)
        try Recording.expect(run.output, as: "pushes-audit-broken.txt")
        let json = await CommandRun.of("pushes audit --output json", data: folder.path).json as? [String: Any]
        #expect(json?["balanced"] as? Bool == false)
        #expect((json?["overdue"] as? [Any])?.count == 1)
        let open = await CommandRun.of("pushes list --open --output jsonl", data: folder.path)
        #expect(open.output.count == 1)
        // The server is gone: what it left open gets no older.
        let table = await CommandRun.of("pushes list --open", data: folder.path)
        #expect(table.output.count == 2 && table.output.last?.hasSuffix("  -") == true, "\(table.output)")
        let push = await CommandRun.of("pushes show 4f60718a", data: folder.path)
        #expect(push.exit == 0 && !push.output.contains { $0.contains(" ago)") }, "\(push.output)")
    }
}
