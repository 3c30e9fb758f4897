import AdminProtocol
import CallCore
import CallMonitor
import CallStore
import CallVocabulary
import Foundation
import Testing

@testable import reveille

/// Text of peers, servers and providers may hold what a terminal acts on; no command lets it through.
@Suite("Nothing that others have written acts on the terminal")
struct HarmlessOutputTests {
    /// C0, C1, escape sequences, line ends, marks of direction, what cannot be seen.
    private static let evil =
        "a\u{1B}[31mb\u{1B}]0;t\u{7}c\u{9B}2Jd\re\nf\u{202E}g\u{2066}h\u{200B}i\u{FEFF}j\u{2028}k\u{7F}l\u{0}m\u{E0041}"
    /// A handle has no C0; the rest it may have.
    private static let evilHandle = Handle(known: "e\u{9B}31m\u{202E}\u{2066}\u{200B}\u{E0041}v")!

    private static var records: [StoreRecord] {
        let phone = DeviceKey(user: evilHandle, device: Scenarios.id(0xB0B0_0001))
        let token = PushToken(provider: .apns, kind: .voip, environment: .sandbox, topic: evil, token: evil)
        var draft = Scenarios.Draft(
            "rejected", minute: 1, from: Party(user: evilHandle, device: Scenarios.id(0xE711_0001)),
            to: .group(evil))
        draft.call.callerName = evil
        draft.leg(phone)
        draft.push(.rejected, reason: evil, answered: 64, report: .reportFailed)
        draft.pushes[0].token = token
        draft.pushes[0].reportError = evil
        draft.end(.noDevices, at: 66)
        let device = DeviceRecord(
            key: phone, platform: .ios, app: evil, name: evil,
            tokens: [.init(token: token, registeredAt: Scenarios.begin)],
            seenAt: Scenarios.begin, unreportedStreak: 1, suspendedAt: nil)
        return [.device(device)] + draft.records
    }

    private static let script: ScriptedServer.Script = { request in
        // A handle that is one.
        let call = CallView(Scenarios.Draft("ringing", minute: 1, to: .group(evil)).call)
        switch request {
        case is ListCalls: return .result(AdminPage(items: [call]))
        case is ListSessions:
            return .result(
                AdminPage(items: [
                    SessionView(
                        user: evilHandle, deviceID: Scenarios.id(1), platform: .ios, app: evil, state: .online,
                        wakeCallID: nil, openedAt: Timestamp(Scenarios.begin), since: Timestamp(Scenarios.begin))
                ]))
        case is ListGroups, is GetGroup:
            let group = GroupView(CallGroup(name: evil, strategy: .hunt, members: [evilHandle]))
            return request is GetGroup ? .result(group) : .result(AdminPage(items: [group]))
        case is ListAliases:
            return .result(AdminPage(items: [AliasView(Alias(handle: evilHandle, user: evilHandle))]))
        case is GetUser:
            return .result(
                UserView(
                    UserSummary(
                        handle: evilHandle, policy: UserPolicy(), aliases: [evilHandle], groups: [evil], devices: 1,
                        devicesOnline: 1, liveCalls: 0)))
        case is GetStats:
            var stats = StatsView.sample()
            stats.problems = [ServerProblem(.ledgerViolated, of: evil, isUnready: true, evil)]
            stats.server.version = evil
            stats.server.address = evil
            stats.pushes.violations = [evil]
            return .result(stats)
        case is SetLogLevel: return .result(LogLevelView(level: evil))
        default: return .refused(AdminRefusal(.conflict, evil))
        }
    }

    @Test("a combining mark behind a style lets no control through")
    func styles() {
        CommandRun.atItsTime(colour: true) {
            for text in ["\u{301}\u{1B}]0;t\u{7}", "\u{200D}\u{9B}2J"] {
                let line = Terminal.bold(text) + "\u{301}\u{7}"
                #expect(Terminal.rendered(line) == "\u{1B}[1m\(text.shown)\u{1B}[0m\("\u{301}\u{7}".shown)")
            }
        }
    }

    private static let reading = [
        "calls list", "calls show 5a6b7c8d", "pushes list", "pushes show 5a6b7c8d", "pushes audit", "devices list",
        "devices show \(evilHandle.text) b0b00001", "backup --verify /dev/null/\(evilHandle.text)",
    ]
    private static let asking = [
        "calls list", "calls watch --once", "calls end 9eafb0c1 --yes", "sessions list", "sessions drop bob",
        "groups list", "groups show sales", "groups set sales bob", "groups delete sales", "aliases list",
        "aliases set desk bob", "aliases delete desk", "users show bob", "users set bob --call-waiting on", "stats",
        "check", "top --once", "log level", "drain --timeout 1s",
        "devices resume bob b0b00001-6f2a-4d0b-9e55-3a1f8a1c2d3e",
        "devices delete bob b0b00001-6f2a-4d0b-9e55-3a1f8a1c2d3e", "users revoke bob",
    ]

    private static func isHarmless(_ lines: [String], hasColour: Bool) -> Bool {
        var text = lines.joined()
        if hasColour {
            for code in ["0", "1", "2", "31", "32", "33"] { text = text.replacing("\u{1B}[\(code)m", with: "") }
        }
        return !text.unicodeScalars.contains(where: \.isHarmfulOnTerminals)
    }

    @Test("what is read from the store", arguments: reading, ["table", "json", "jsonl"])
    func stored(line: String, format: String) async throws {
        let folder = try Scenarios.Folder(Self.records)
        for hasColour in [false, true] {
            let run = await CommandRun.of(
                "\(line) --output \(format)", data: folder.path, width: 100, colour: hasColour)
            #expect(!run.output.isEmpty || !run.complaints.isEmpty)
            #expect(
                Self.isHarmless(run.output + run.complaints, hasColour: hasColour), "\(run.output) \(run.complaints)")
            // The escape sequence of the peer is spelt out in colour as well.
            #expect(!run.output.joined().contains("a\u{1B}[31mb"))
        }
    }

    @Test("what a server answers, and what it refuses with", arguments: asking)
    func answered(line: String) async throws {
        try await ScriptedServer.run(Self.script) { server in
            for format in line.contains("check") ? ["nagios", "prometheus", "json"] : ["table", "json"] {
                let takesFormat = line.contains("list") || line.contains("show") || line.contains("--once")
                let words = takesFormat || line.contains("check") ? "\(line) --output \(format)" : line
                let run = await server.command(words)
                #expect(!run.output.isEmpty || !run.complaints.isEmpty)
                #expect(
                    Self.isHarmless(run.output.flatMap { $0.split(separator: "\n").map(String.init) }, hasColour: false)
                )
                #expect(Self.isHarmless(run.complaints, hasColour: false), "\(run.complaints)")
            }
        }
    }

    @Test("JSON keeps the text that it escapes")
    func json() async throws {
        let folder = try Scenarios.Folder(Self.records)
        let run = await CommandRun.of("devices list --output json", data: folder.path)
        let devices = (run.json as? [String: [[String: Any]]])?["devices"]
        #expect(devices?.first?["name"] as? String == Self.evil)
    }

    @Test("what is on the command line comes back spelt out")
    func misuse() async {
        for line in [
            ["calls", Self.evil], ["calls", "list", "--user", Self.evil], ["calls", "list", "--reason", Self.evil],
        ] {
            let run = await CommandRun.of(line)
            #expect(run.exit == 64)
            #expect(Self.isHarmless(run.complaints, hasColour: false), "\(run.complaints)")
        }
    }

    @Test("styles are written as escape sequences, and nobody else's text is")
    func marksBehindStyles() {
        CommandRun.atItsTime(colour: true) {
            let line = Terminal.red("a\(Self.evil)b") + Self.evil
            let text = Terminal.rendered(line)
            #expect(text.hasPrefix("\u{1B}[31ma"))
            #expect(text.split(separator: "\u{1B}").count == 2)
            #expect(Self.isHarmless([text], hasColour: true))
        }
    }

    @Test("only these files write to a standard stream: all else passes the console")
    func writers() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/reveille")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)?.compactMap {
            $0 as? URL
        }
        var writers: Set<String> = []
        for file in files ?? [] where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            let isWriter = ["FileHandle.standard", "StandardStream.write", "fputs(", "STDOUT_FILENO,", "Swift.print"]
                .contains { text.contains($0) }
            if isWriter { writers.insert(file.lastPathComponent) }
        }
        #expect(
            writers.isSubset(of: [
                "Console.swift", "StandardStream.swift", "ProgressLine.swift", "CopyProgressLine.swift",
                "PhoneDisplay.swift",
            ]), "\(writers)")
    }
}
