import ArgumentParser
import Testing

@testable import reveille

@Suite("What was said wrongly on the command line")
struct MisuseTests {
    private func misuse(_ line: String) async -> [String] {
        let run = await CommandRun.of(line)
        #expect(run.exit == 64, "\(line)")
        #expect(run.output.isEmpty)
        return run.complaints
    }

    @Test(
        "a command that is mistyped is named, at every level",
        arguments: [
            ("cals list", "reveille calls"), ("call list", "reveille calls"), ("serv", "reveille serve"),
            ("calls lst", "reveille calls list"), ("calls shwo 0b9c8e4e", "reveille calls show"),
            ("push-sim falt lose", "reveille push-sim fault"), ("pushsim", "reveille push-sim"),
            ("log leve debug", "reveille log level"), ("config chek", "reveille config check"),
            ("gorups list", "reveille groups"), ("fcm subscibe a b", "reveille fcm subscribe"),
            ("help cals", "reveille calls"), ("watch", "reveille calls watch"), ("audit", "reveille pushes audit"),
        ])
    func commands(line: String, meant: String) async {
        let complaints = await misuse(line)
        #expect(complaints.count == 2)
        #expect(complaints.first?.contains("Did you mean '\(meant)'?") == true, "\(complaints)")
    }

    @Test(
        "settings are called by their options, and words that only look like settings stay",
        arguments: [
            ("serve --realm Nope", "--realm: 'Nope' is no name of a realm; give one of 1 to 40 of a-z"),
            (
                "serve --store postgres//x",
                "--store: the value is no address of a PostgreSQL database; give one such as "
                    + "postgres://reveille@db.example.org/reveille, or leave it out"
            ),
            (
                "serve --data postgres://x/y",
                "--data: this is the address of a database; give it in --store, and a folder here"
            ),
            (
                "serve --store postgres://bob:hush@127.0.0.1/d",
                "--store: every user of this machine can read a password in a command's arguments; take it out, and give "
                    + "it in PGPASSWORD, in a pgpass file (~/.pgpass), or in the settings file"
            ),
            (
                "serve --store postgres://bob:hu@sh@127.0.0.1/d",
                "--store: the address of the database cannot be read; it is not shown, for its password; percent-encode "
            ),
            ("serve --store postgres://bob@db.example.org/d", "--store: db.example.org is reached over a network, "),
            (
                "serve --host 0.0.0.0",
                "--host: 0.0.0.0 can be reached from other machines, and this would be plain ws://; give "
                    + "--tls-certificate and --tls-key, or put a TLS proxy in front and say --insecure, or listen on"
            ),
            ("serve --host example.org", "--host: 'example.org' is neither a numeric address nor localhost; give one"),
            ("serve --tls-certificate /none", "--tls-certificate: is of no use without --tls-key"),
        ])
    func settings(line: String, words: String) async {
        let complaints = await misuse(line)
        #expect(complaints.first?.contains("Error: " + words) == true, "\(complaints)")
    }

    @Test(
        "no argument has a password of a database, and none is shown",
        arguments: [
            ("handover --store", ""), ("cluster status --store", ""), ("calls list --data", ""),
            ("devices list --data", ""), ("store copy /none", ""), ("store copy", " /none"),
            ("load online --store", ""),
        ])
    func passwords(command: String, more: String) async {
        for (uri, words) in [
            ("postgres://bob:hush@127.0.0.1/d", "can read a password in a command's arguments"),
            ("postgres://bob@127.0.0.1/d?password=hush", "can read a password in a command's arguments"),
            ("postgres://bob:hu@sh@127.0.0.1/d", "percent-encode"),
            ("postgres://bob:hu?sh@127.0.0.1/d", "percent-encode"),
            ("POSTGRES://bob:hush@127.0.0.1/d", "postgres://"),
            ("mysql://bob:hush@127.0.0.1/d", "postgres://"), ("host=h,password=hush", "postgres://"),
            ("postgres:/bob:hush@127.0.0.1/d", "postgres://"), ("postgres//bob:hush@127.0.0.1/d", "postgres://"),
            ("bob:hush@127.0.0.1:5432/d", "postgres://"),
        ] {
            let complaints = await misuse("\(command) \(uri)\(more)").joined(separator: "\n")
            #expect(complaints.contains(words), "\(complaints)")
            for part in ["hush", "sh@", "hu@", "hu?"] { #expect(!complaints.contains(part), "\(complaints)") }
        }
    }

    @Test(
        "an address with a password is repeated by no complaint, wherever it stands",
        arguments: [
            "postgres://bob:hush@h/d", "serve postgres://bob:hush@h/d", "calls list postgres://bob:hu@sh@h/d",
            "calls list --limit postgres://bob:hush@h/d", "serve host=h,password=hush",
            "phone alice --server wss://bob:hush@h", "phone alice --server wss://hush@h",
            "calls list --server wss://bob:hush@h", "load online --target ws://bob:hush@h:1",
            "load online --target ws://h:1 --secret-file /none --metrics-url http://bob:hush@h:1",
        ])
    func misplacedPassword(line: String) async {
        let complaints = await misuse(line).joined(separator: "\n")
        #expect(!complaints.contains("hush") && !complaints.contains("sh@"), "\(complaints)")
    }

    @Test(
        "a word with blanks or quotation marks in it, a key, and the name of a URL's user are not repeated either",
        arguments: [
            ["calls", "list", "postgres://bob:hu sh@h/d"], ["calls", "list", "postgres://bob:hu'sh@h/d"],
            ["calls", "list", "wss://hush@h"], ["calls", "list", "hush=hush hush"], ["postgres://bob:hu sh@h/d"],
            ["calls", "postgres://bob:hu 'sh@h/d"], ["calls", "list", "--postgres://bob:hu sh@h/d"],
            ["calls", "list", "--limit=postgres://bob:hu sh@h/d"],
            ["calls", "list", "--output", "host=h password=hush"],
            ["calls", "list", "\u{301}ob:hush@h"], ["calls", "list", "wss://b:\u{301}hush@\u{301}h"],
            ["calls", "list", "password=\u{301}hush"],
            ["help", "wss://bob:hu sh@h"], ["calls", "list", "whsec_hush"], ["calls", "list", "postgres://bob:hush/d"],
        ])
    func secretWord(arguments: [String]) async {
        let run = await CommandRun.of(arguments)
        #expect(run.exit == 64 && run.output.isEmpty && !run.complaints.isEmpty)
        let complaints = run.complaints.joined(separator: "\n")
        for part in ["hush", "sh@", "hu ", "hu'"] { #expect(!complaints.contains(part), "\(complaints)") }
    }

    @Test("every command with a letter left out is recognized", arguments: HelpTests.all)
    func everyCommand(leaf: HelpTests.Leaf) async throws {
        guard let name = leaf.path.last, name.count > 3 else { return }
        for offset in 1..<name.count {
            var word = name
            word.remove(at: word.index(word.startIndex, offsetBy: offset))
            // It may be another's name.
            guard !HelpTests.all.contains(where: { $0.path == leaf.path.dropLast() + [word] }) else { continue }
            let complaints = await misuse((leaf.path.dropLast() + [word]).joined(separator: " "))
            #expect(complaints.first?.contains("Did you mean '") == true, "\(complaints)")
        }
    }

    @Test(
        "an option, and a value out of a closed set, too",
        arguments: [
            ("calls list --stae ringing", "--state"), ("calls list --state ringin", "ringing"),
            ("calls list --reason ring-timeout", "ring_timeout"), ("calls list --output jsno", "json"),
            ("groups set sales bob --strategy hunter", "hunt"), ("pushes list --status rejectd", "rejected"),
            ("push-sim fault black_hol", "black-hole"), ("push-sim fault lost", "lose"), ("log level debgu", "debug"),
            ("load onlin", "online"), ("users set bob --decline devic", "device"),
            ("push-sim goaway --reason Shutdwn", "Shutdown"), ("serve --log-level infos", "info"),
            ("phone bob --asleep --platform andriod", "android"), ("calls list --hepl", "--help"),
            ("serve --verison", "--version"), ("--hlep", "--help"),
        ])
    func values(line: String, meant: String) async {
        let complaints = await misuse(line)
        #expect(complaints.first?.contains("Did you mean '\(meant)'?") == true, "\(complaints)")
    }

    @Test(
        "an option that is no option but a setting is led to where settings are given",
        arguments: [
            ("serve --connect-seconds 10", "the setting calls.connect_seconds? Give it in the settings file, or as "),
            ("serve --calls.connect_second 10", "the setting calls.connect_seconds?"),
        ])
    func settingAsOption(line: String, words: String) async {
        let complaints = await misuse(line)
        #expect(complaints.first?.contains("Did you mean ") == true && complaints[0].contains(words), "\(complaints)")
        #expect(await misuse("serve --zzzzzzzz").first == "Error: Unknown option '--zzzzzzzz'")
    }

    @Test("what is nothing like anything gets no guess, and the commands there are")
    func noGuess() async {
        #expect(await misuse("dance") == ["Error: There is no command 'reveille dance'.", "See 'reveille --help'."])
        #expect(
            await misuse("calls dance") == [
                "Error: There is no command 'reveille calls dance'. There are list, show, watch, end.",
                "See 'reveille calls --help'.",
            ])
    }

    @Test(
        "each mistake is told in one line, with one more on where the help is",
        arguments: [
            ("token", "reveille token"), ("calls show", "reveille calls show"),
            ("calls list --limit 0", "reveille calls list"),
            ("calls list bob", "reveille calls list"), ("backup", "reveille backup"), ("restore", "reveille restore"),
            ("groups set sales", "reveille groups set"), ("serve --port 70000", "reveille serve"),
            ("load", "reveille load"), ("load online --target http://x", "reveille load"),
            ("push-test", "reveille push-test"), ("users set bob", "reveille users set"), ("manual", "reveille manual"),
            ("fcm notify", "reveille fcm notify"), ("phone", "reveille phone"),
            ("push-sim fault", "reveille push-sim fault"),
        ])
    func lines(line: String, command: String) async {
        let complaints = await misuse(line)
        #expect(complaints.count == 2)
        #expect(complaints.first?.hasPrefix("Error: ") == true)
        #expect(complaints.last == "See '\(command) --help'.")
    }

    @Test(
        "what is wrong with a value names the option, and what it takes",
        arguments: [
            ("serve --port x", "--port", "port to listen on"), ("serve --port 80x", "--port", "it is no number"),
            ("serve --port -1", "--port", "it is negative"), ("calls list --limit -1", "--limit", "it is negative"),
            ("serve --apns-port 70000", "--apns-port", "it is not whole, or out of range"),
            ("check --oldest-push 5:1", "--oldest-push", "the warning, 5, is above the critical value, 1"),
            ("check --oldest-push a:b", "--oldest-push", "one or two numbers from 0 on"),
            ("top --interval soon", "--interval", "it is no time such as 2s"),
            ("push-sim fault refuse --reason Nonsense", "--reason", "there are BadCollapseId"),
            ("push-sim fault refuse --provider fcm --reason Nonsense", "--reason", "UNREGISTERED"),
            ("push-sim fault late", "--delay-ms", "hour"),
            ("push-sim fault refuse", "--reason", "needs"), ("push-sim fault stream-limit", "--limit", "stream-limit"),
            ("push-sim fault lose --rate 7", "--rate", "0–1"),
            ("serve --apns-key x", "--apns-key-id", "--apns-team-id"),
            ("load online --rate x", "--rate", "second"),
            ("webhooks replay billing --since 9999-01-01", "--since", "is yet to come; give a time that is over"),
        ])
    func options(line: String, option: String, words: String) async {
        let complaints = await misuse(line)
        #expect(complaints.count == 2)
        #expect(
            complaints.first?.contains(option) == true && complaints.first?.contains(words) == true, "\(complaints)")
    }

    @Test("a missing argument is said to be what", arguments: ["token", "calls show", "backup", "restore", "manual"])
    func missing(line: String) async {
        let first = await misuse(line).first ?? ""
        #expect(first.contains("Missing expected argument '<"))
        #expect(first.split(separator: ":").count > 2, "\(first)")
    }

    @Test(
        "words are near when a letter in three differs at most",
        arguments: [("cals", "calls", 1), ("shwo", "show", 1), ("", "end", 3), ("kitten", "sitting", 3)])
    func distance(a: String, b: String, expected: Int) {
        #expect(Nearest.distance(a, b) == expected)
        #expect(Nearest.distance(b, a) == expected)
    }

    @Test("help is printed, for the program and for a command, and is no error", arguments: ["--help", "load --help"])
    func help(line: String) async {
        let run = await CommandRun.of(line)
        #expect(run.exit == 0 && run.complaints.isEmpty, "\(run.complaints)")
        #expect(run.output.joined().contains("USAGE: reveille"))
    }
}
