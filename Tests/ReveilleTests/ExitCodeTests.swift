import AdminProtocol
import CallVocabulary
import Foundation
import GRDB
import Testing

@testable import CallStore
@testable import reveille

@Suite("What goes wrong with a command, in words and exit codes")
struct ExitCodeTests {
    private static let id = "0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e"

    /// Each command that asks a server.
    private static let asking = [
        "calls end \(id)", "sessions list", "sessions drop bob", "sessions drop bob \(id)", "devices resume bob \(id)",
        "devices delete bob \(id)", "users revoke bob", "users show bob", "users set bob --call-waiting on",
        "users set bob --missed-calls alert", "groups list", "groups show sales",
        "groups set sales alice bob", "groups delete sales", "aliases list", "aliases set desk alice",
        "aliases delete desk", "stats", "top --once", "log level", "log level debug", "drain --timeout 1s",
    ]
    /// Each command that reads what is stored.
    private static let reading = [
        "calls list", "calls show \(id)", "calls show 0b9c", "pushes list", "pushes show \(id)", "pushes audit",
        "devices list", "devices show bob \(id)",
    ]
    /// Those of them that are about one thing, which may not be there.
    private static let naming = [
        "calls show \(id)", "calls show 0b9c", "pushes show \(id)", "pushes list --call 0b9c", "devices show bob \(id)",
    ]

    private static let nowhere = "/tmp/reveille-no-such-\(UInt32.random(in: 0 ... .max))"

    @Test("no server on a folder, at a socket: 2, and where to look", arguments: asking)
    func noServer(line: String) async {
        for (option, place) in [("--data", "on \(Self.nowhere)"), ("--server", "at \(Self.nowhere)")] {
            let run = await CommandRun.of("\(line) \(option) \(Self.nowhere)")
            run.expectFailure(2, lines: 1)
            let words = "reveille: no server is running \(place); start one with reveille serve"
            #expect(run.complaints.first?.hasPrefix(words) == true)
        }
    }

    @Test(
        "a server whose socket was removed: 2, with its process",
        arguments: ["stats", "check", "phone alice --script /dev/null"])
    func socketGone(line: String) async throws {
        let folder = try Scenarios.Folder()
        let store = try CallStore.open(folder: folder.path)
        defer { store.close() }
        let run = await CommandRun.of(line, data: folder.path)
        #expect(run.exit == 2)
        let words = "process \(getpid()) runs on \(folder.path), but the socket \(folder.path)/admin.sock is gone; "
        #expect((run.output + run.complaints).joined().contains(words), "\(run.output) \(run.complaints)")
    }

    @Test("no server to read from: 2", arguments: reading)
    func noServerToReadFrom(line: String) async {
        let run = await CommandRun.of("\(line) --server \(Self.nowhere)")
        run.expectFailure(2, "no server is running at \(Self.nowhere)")
    }

    @Test("a phone without a server on its data folder: 2")
    func phoneWithoutServer() async {
        let run = await CommandRun.of("phone alice --script /dev/null", data: Self.nowhere)
        run.expectFailure(2, lines: 1, "no server is running on \(Self.nowhere)")
    }

    @Test("a phone that no push can wake: 2, with the address of the server that it was to connect to")
    func phoneWithoutSimulator() async {
        let run = await CommandRun.of(
            "phone bob --asleep --script /dev/null --token x --server ws://127.0.0.1:1", data: Self.nowhere)
        run.expectFailure(2, lines: 2, "no push simulator has run there; start reveille push-sim")
        #expect(run.complaints.first == "connecting to ws://127.0.0.1:1 (--server)")
    }

    @Test(
        "no push simulator: 2, and what to start",
        arguments: [
            ("push-sim fault lose", "start reveille push-sim"), ("push-sim faults", "start reveille push-sim"),
            ("push-sim clear", "start reveille push-sim"), ("push-sim goaway", "start reveille push-sim"),
            ("push-sim phones", "start reveille push-sim"), ("push-sim state", "start reveille push-sim"),
            ("fcm subscribe --push-sim news abc", "start reveille push-sim first"),
            ("serve --port 0 --push-sim --log-format text", "start reveille push-sim first"),
        ])
    func noSimulator(line: String, words: String) async {
        let run = await CommandRun.of(line, data: Self.nowhere)
        run.expectFailure(2, lines: 1, words)
    }

    @Test("no store, or that of a later version: 2, and what to do", arguments: reading)
    func noStore(line: String) async throws {
        let missing = await CommandRun.of(line, data: Self.nowhere)
        missing.expectFailure(2, lines: 1, "Check the path of the data folder")
        let folder = try Scenarios.Folder()
        let store = try StoreConnection.open(folder.path + "/reveille.sqlite3", Configuration())
        try await store.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('of a later version')") }
        let later = await CommandRun.of(line, data: folder.path)
        later.expectFailure(2, "Start the version that wrote it, or a later one")
        try Data("no database at all".utf8).write(to: URL(filePath: folder.path + "/reveille.sqlite3"))
        let broken = await CommandRun.of(line, data: folder.path)
        broken.expectFailure(2, "move it away or restore a backup")
    }

    @Test("what is not there: 1, and where to look for what is", arguments: naming)
    func missing(line: String) async throws {
        let folder = try Scenarios.Folder([])
        let run = await CommandRun.of(line, data: folder.path)
        run.expectFailure(1, lines: 1, "; see reveille ")
    }

    @Test("an unknown device or push is named, with the command that lists them")
    func namesWhatIsMissing() async throws {
        let folder = try Scenarios.Folder([])
        for (line, words) in [
            ("devices show bob \(Self.id)", "bob has no device \(Self.id); see reveille devices list --user bob"),
            ("pushes show \(Self.id)", "no push \(Self.id) in \(folder.path); see reveille pushes list"),
        ] {
            let run = await CommandRun.of(line, data: folder.path)
            run.expectFailure(1)
            #expect(run.complaints == ["reveille: \(words)"])
        }
    }

    @Test("a server that goes away while it is asked: 2, and that the change may have been made", arguments: asking)
    func goesAway(line: String) async throws {
        let run = try await ScriptedServer.run({ _ in .hangUp }) { await $0.command(line) }
        run.expectFailure(2, "went away")
    }

    @Test("a server of another version: 2", arguments: asking + reading)
    func otherVersion(line: String) async throws {
        let error = AdminError(SignalError(.methodNotFound, "There is no such method."))
        let run = try await ScriptedServer.run({ _ in .error(error) }) { await $0.command(line) }
        run.expectFailure(2, "use the reveille that runs the server")
    }

    @Test(
        "what the server does not know: 1, and where to look",
        arguments: [
            "calls show \(id)", "pushes show \(id)", "calls end \(id)", "sessions drop bob \(id)",
            "devices resume bob \(id)", "devices delete bob \(id)",
            "groups show sales", "groups delete sales", "aliases delete desk",
        ])
    func notFound(line: String) async throws {
        let run = try await ScriptedServer.run({ _ in .refused(AdminRefusal(.notFound, "It is not there.")) }) {
            await $0.command(line)
        }
        run.expectFailure(1, lines: 1, "; see reveille ")
    }

    @Test("what the server refuses is told in its words: 1")
    func refused() async throws {
        for (line, words) in [
            ("calls end \(Self.id)", "The call is over already."),
            ("groups set sales bob", "There are too many groups."),
            ("log level debug", "The level is fixed."),
        ] {
            let run = try await ScriptedServer.run({ _ in .refused(AdminRefusal(.conflict, words)) }) {
                await $0.command(line)
            }
            #expect(run.exit == 1)
            #expect(run.complaints == ["reveille: \(words)"])
        }
    }

    @Test(
        "what the token may not do is told in the server's words: 1",
        arguments: asking.filter { !$0.hasPrefix("top") })
    func forbidden(line: String) async throws {
        let words = "user.set changes something, and this token is for reading: show the one in admin.token_file."
        let error = AdminError(SignalError(.forbidden, words))
        let run = try await ScriptedServer.run({ _ in .error(error) }) { await $0.command(line) }
        run.expectFailure(1, lines: 1)
        #expect(run.complaints == ["reveille: \(words)"])
    }

    @Test(
        "what is said wrongly: 64, with the choices where there are some",
        arguments: [
            ("calls list --reason boredom", "ring_timeout"), ("calls list --state asleep", "connected"),
            ("calls list --user ", "no handle"), ("calls list --limit 0", "--limit is 1"),
            ("calls list --output yaml", "jsonl"), ("calls list --since yesterday", "2h or 3d"),
            ("calls list --since 2026-13-01", "is no time"), ("calls list --since 2h --until 3h", "not before"),
            ("calls list --live --reason hangup", "--live"), ("calls show 17", "last 4 digits"),
            ("calls show xyzw", "no id"), ("calls show", "Missing"), ("calls end", "Missing"), ("calls end 1", "no id"),
            ("sessions drop", "Missing"), ("sessions drop bob 1a2b --all", "--all"),
            ("sessions list --limit x", "limit"),
            ("devices show bob", "Missing"), ("devices show bob 7", "no id"), ("devices resume bob 7", "no id"),
            ("users show", "Missing"), ("users set bob", "Say what to change"),
            ("users set bob --decline none", "device"), ("users set bob --call-waiting maybe", "off"),
            ("groups set sales", "Missing"), ("groups set sales a --strategy any", "hunt"), ("groups show", "Missing"),
            ("aliases set desk", "Missing"), ("pushes list --status lost", "rejected"),
            ("pushes list --report maybe", "unreported"), ("pushes list --purpose joy", "missed_call"),
            ("pushes list --call 17", "no id"), ("pushes show", "Missing"), ("pushes audit --output xml", "jsonl"),
            ("stats --output xml", "jsonl"), ("check --files 90:80", "files"), ("check --output xml", "prometheus"),
            ("check --ignore rain", "store_failing"), ("check --timeout 0s", "1s to 5m"),
            ("drain --timeout 2d", "1s to 1d"),
            ("drain --timeout soon", "length of time"),
            ("log level loud", "notice"), ("token", "Missing"), ("token bob --ttl 0", "365d"),
            ("token bob --ttl 2y", "length of time"), ("stats --server x --data y", "give one of the two"),
            ("stats --server http://x", "neither ws://"),
            ("stats --server wss://x:1", "A server at a URL asks for a token"),
            ("stats --server ws://127.0.0.1:1", "A server at a URL asks for a token"),
            ("stats --server wss://x:1 --token x --ca-file /none.pem", "--ca-file: /none.pem cannot be read."),
            ("groups list --server wss://x:1 --token x --client-key x", "--client-certificate"),
            ("users forward bob", "Give --busy, --no-answer or both; or --off alone."),
            ("users forward bob --busy carol --after 20s", "--after goes with --no-answer."),
            ("users forward bob --no-answer carol --after 2s", "--after is 5 to 600 whole seconds."),
            ("groups set desk bob --delay carol=5", "--delay names carol, who is no member."),
            ("groups set desk bob --delay bob=1 --delay bob=2", "--delay names each member once."),
            ("groups set desk bob --delay bob=1h", "'bob=1h' is no delay: give a member and 0 to 600 s, as bob=20."),
            ("calls watch --output json", "--output goes with --once"), ("dance", "dance"),
        ])
    func usage(line: String, words: String) async {
        let run = await CommandRun.of(
            line.split(separator: " ", omittingEmptySubsequences: false).map(String.init))
        run.expectFailure(64, "Error: ", words)
    }

    @Test(
        "what is said wrongly of groups, devices, faults, files and the server: 64",
        arguments: [
            "groups set", "groups set a\u{7F} alice", "groups list --output yaml", "groups delete", "aliases set +81",
            "aliases delete", "aliases list --output xml", "devices show bob x", "devices resume bob x",
            "devices list --user a\u{7F}", "pushes show x", "pushes list --limit -1",
            "users set bob --missed-calls loud", "push-sim fault", "push-sim fault nonsense", "push-sim fault refuse",
            "push-sim fault refuse --reason X", "push-sim fault late", "push-sim fault lose --rate 2",
            "push-sim fault lose --count 0", "push-sim fault stream-limit", "push-sim goaway --provider oauth",
            "push-sim goaway --reason X", "push-sim goaway --environment moon", "push-sim --port x",
            "fcm subscribe news token", "serve --push-sim --fcm-service-account x", "serve --host 0.0.0.0",
            "serve --host example.org", "serve --ring-seconds 4", "serve --shards 0", "serve --apns-key x",
            "serve --port 70000", "serve --log-format xml", "serve --log-level loud", "token alice --device 7", "phone",
            "phone alice --auto-answer -1", "phone alice --ignore-pushes", "backup", "backup --verify --force x",
            "backup x --output xml", "restore", "restore x --check --replace", "config check --port x",
            "config show --output xml",
            "config dance", "top --interval 0.1s", "top --interval soon",
        ])
    func usage(line: String) async {
        let run = await CommandRun.of(line)
        run.expectFailure(64, "Error: ")
    }

    @Test(
        "what is said wrongly of a push to test: 64, with what is valid",
        arguments: [
            ("--user bob", "--push-sim"), ("--push-sim", "--user"), ("--token 00ff --push-sim", "--topic"),
            ("--token 00ff --topic a.voip --push-sim", "--token: expected the device token in hex"),
            (
                "--token 0123456789abcdef --topic a --kind voip --push-sim",
                "--topic: expected the app's bundle id with .voip"
            ),
            ("--token 0123456789abcdef --topic a.voip", "Say what to push with"),
            ("--user bob --environment sandbox --push-sim", "a known device has its own"),
            ("--user bob --device x --push-sim", "give a UUID"),
            ("--user bob --apns-key /nowhere.p8 --apns-key-id ABC123DEFG --apns-team-id DEF123GHIJ", "/nowhere.p8"),
        ])
    func pushTest(options: String, words: String) async throws {
        // The file names no provider.
        let folder = try EmptyFolder()
        try Data().write(to: URL(filePath: folder.path + "/reveille.yaml"))
        let run = await CommandRun.of("push-test \(options)", data: folder.path)
        run.expectFailure(64, "Error: ", words)
    }
}
