import ArgumentParser
import CallVocabulary
import ChildProcess
import Foundation
import Glibc
import StoreInterface
import TestCleanup
import Testing

@testable import LoadTest
@testable import reveille

@Suite("The options of reveille load")
struct LoadOptionsTests {
    private static func plan(_ line: String) throws -> LoadPlan {
        let command = try LoadCommand.parse(line.split(separator: " ").map(String.init))
        guard case .scenario(let scenario) = command.task else { throw ValidationError("no scenario") }
        return try command.plan(scenario)
    }

    @Test("a scenario alone is a closed loop that is over soon", arguments: LoadPlan.Scenario.allCases)
    func standard(scenario: LoadPlan.Scenario) throws {
        let plan = try Self.plan(scenario.rawValue)
        guard case .closed(let concurrency) = plan.pace else {
            Issue.record("\(plan.pace)")
            return
        }
        #expect((1...100).contains(concurrency))
        // A register run ends with its last session.
        #expect(plan.ramp + plan.warmUp + (scenario == .register ? .zero : plan.duration) <= .seconds(11))
        #expect(plan.sessions == (scenario == .register ? 1_000 : 0))
        #expect(plan.threads == min(4, ProcessInfo.processInfo.activeProcessorCount))
        guard case .own(let server) = plan.target else {
            Issue.record("\(plan.target)")
            return
        }
        #expect(server.shards == 1)
        #expect(FileManager.default.isExecutableFile(atPath: server.executable))
    }

    @Test("each option is in the plan")
    func all() throws {
        let plan = try Self.plan(
            "mixed --rate 12.5 --places 90 --sessions 40 --duration 90s --warmup 500ms --ramp 2m --hold 3 --answer-ratio 0.25 "
                + "--fanout 7 --members --asleep --weights online=3,fanout=1 --faults --sdp --seed 18 --threads 2 --shards 3"
        )
        #expect(plan.scenario == .mixed)
        #expect(plan.pace == .open(rate: 12.5))
        #expect((plan.sessions, plan.places) == (40, 90))
        #expect((plan.duration, plan.warmUp) == (.seconds(90), .milliseconds(500)))
        #expect((plan.ramp, plan.hold) == (.seconds(120), .seconds(3)))
        #expect(plan.answerRatio == 0.25)
        #expect((plan.fanOut, plan.fanOutKind, plan.fanOutAsleep) == (7, .members, true))
        #expect(plan.weights == [.online: 3, .fanout: 1])
        #expect(plan.faults && plan.hasDescriptions)
        #expect((plan.seed, plan.threads) == (18, 2))
        guard case .own(let server) = plan.target else {
            Issue.record("\(plan.target)")
            return
        }
        #expect(server.shards == 3)
    }

    @Test(
        "the command that a report names gives the same plan",
        arguments: [
            "online", "register --sessions 10 --hold 250ms", "wake --rate 0.5 --ramp 3s", "relay --concurrency 3",
            "online --sdp", "online --concurrency 40 --ramp 20s", "online --rate 20 --hold 30s --places 12",
            "register --sessions 1000 --rate 500 --ramp 10s",
            "fanout --fanout 12 --members --asleep", "churn --sessions 5",
            "mixed --weights wake=1,churn=2 --faults --seed 77", "online --standing 12 --tls --data /tmp",
            "mixed --fanout 500", "wake --app linphone",
        ])
    func repeated(line: String) throws {
        let plan = try Self.plan(line)
        let words = plan.commandLine.split(separator: " ").dropFirst(2).joined(separator: " ")
        let again = try Self.plan(words)
        #expect(again.commandLine == plan.commandLine)
        #expect(
            "\(again.pace) \(again.weights.sorted { $0.key.rawValue < $1.key.rawValue })"
                == "\(plan.pace) \(plan.weights.filter { $0.value > 0 }.sorted { $0.key.rawValue < $1.key.rawValue })")
        #expect(
            (again.hold, again.ramp, again.warmUp, again.duration) == (plan.hold, plan.ramp, plan.warmUp, plan.duration)
        )
    }

    @Test("calls that are held have a warm-up that is longer, where none is given")
    func warmUp() throws {
        #expect(try Self.plan("online").warmUp == .seconds(1))
        #expect(try Self.plan("online --hold 30s").warmUp == .seconds(31))
        #expect(try Self.plan("online --hold 30s --warmup 2s").warmUp == .seconds(2))
        #expect(try Self.plan("online --hold 1d").warmUp == .seconds(86_400))
        #expect(try Self.plan("register --hold 30s").warmUp == .seconds(1))
    }

    @Test("two runs have users of their own unless they are told the same seed, and a mix has narrower calls")
    func seeds() throws {
        let seeds = try (0..<8).map { _ in try Self.plan("online").seed }
        #expect(Set(seeds).count > 1)
        #expect(try Self.plan("online").commandLine.contains(" --seed "))
        #expect(try Self.plan("mixed").fanOut == 10 && Self.plan("fanout").fanOut == 100)
        #expect(try Self.plan("mixed --fanout 500").fanOut == 500)
    }

    @Test("words that a shell would take apart are in quotes")
    func quotes() {
        var server = LoadTarget.RunningServer(url: "ws://[::1]:7350", secretFile: "/a b/it's'\u{301}")
        server.simulatorFolder = "/sim"
        let plan = LoadPlan(.online, pace: .closed(concurrency: 1), target: .running(server))
        #expect(
            plan.commandLine.hasSuffix(
                "--target 'ws://[::1]:7350' --secret-file '/a b/it'\\''s'\\''\u{301}' --push-sim-data /sim"))
    }

    @Test("a run in a database has a realm of its own, and two servers only if the home is killed")
    func store() throws {
        var realms: Set<String> = []
        for (line, period) in [("", nil), (" --kill-home-every 15s --duration 1m", Duration.seconds(15))] {
            let plan = try Self.plan("online --store postgres://u@h/d?passfile=hush" + line)
            guard case .own(let server) = plan.target, let store = server.store else {
                Issue.record("\(plan.target)")
                return
            }
            #expect(store.uri == "postgres://u@h/d?passfile=hush" && store.realm.hasPrefix("load_"))
            #expect(server.killsHomeEvery == period)
            realms.insert(store.realm)
            let command = plan.commandLine
            #expect(command.contains(" --store postgres://u@h/d") && !command.contains("hush"), "\(command)")
            #expect(command.contains(" --kill-home-every 15s") == (period != nil), "\(command)")
        }
        #expect(realms.count == 2)
    }

    private static let key = String(repeating: "0f", count: 32)

    @Test("a server elsewhere takes its secret, its metrics and its simulator")
    func elsewhere() throws {
        let folder = NSTemporaryDirectory() + "load-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let secret = folder + "/client-token.key"
        try Data((Self.key + "\n").utf8).write(to: URL(filePath: secret))
        let empty = folder + "/empty"
        try Data().write(to: URL(filePath: empty))
        let odd = folder + "/odd"
        try Data((Self.key + "0\n").utf8).write(to: URL(filePath: odd))
        let target = "--target wss://calls.example:443 --secret-file \(secret)"
        let plan = try Self.plan(
            "wake \(target) --metrics-url http://10.0.0.5:9/metrics --push-sim-data \(folder)")
        guard case .running(let server) = plan.target else {
            Issue.record("\(plan.target)")
            return
        }
        #expect((server.url, server.secretFile) == ("wss://calls.example:443", secret))
        #expect((server.metricsURL, server.simulatorFolder) == ("http://10.0.0.5:9/metrics", folder))
        for (line, words) in [
            ("fanout --members \(target)", "--members sets groups by that server's admin API"),
            ("online \(target) --tls", "--tls is of a server of its own"),
            ("online \(target) --token x", "--token goes with --server at a URL"),
            ("online \(target) --server ws://10.0.0.5:7 --token x", "say wss://"),
            ("online \(target) --server wss://10.0.0.5:7", "A server at a URL asks for a token"),
            ("online \(target) --ca-file \(folder)/no", "--ca-file: \(folder)/no cannot be read."),
            ("online --target ws://x --data \(folder)/no", "--data: there is no folder \(folder)/no."),
            (
                "online --target ws://x --data \(NSTemporaryDirectory())",
                "--data: \(NSTemporaryDirectory())/client-token.key"
            ),
            ("wake \(target)", "wake wakes phones: name the folder of the push simulator"),
            ("fanout --asleep \(target)", "--push-sim-data"), ("mixed \(target)", "--push-sim-data"),
            ("online \(target) --shards 2", "--shards is of a server of its own"),
            ("online \(target) --push-sim-data \(folder)/no", "--push-sim-data: there is no folder"),
            (
                "online \(target) --metrics-url ws://x",
                "--metrics-url is http://host:port or https://host:port, not 'ws://x'"
            ),
            ("online --target ws://x --secret-file \(folder)/no", "\(folder)/no cannot be read"),
            ("online --target ws://x --secret-file \(empty)", "at least 64 hexadecimal digits"),
            ("online --target ws://x --secret-file \(odd)", "--secret-file: \(odd) does not hold a secret"),
        ] {
            let refusal = Self.refusal(line)
            #expect(refusal.exit == 64 && refusal.words.contains(words), "\(line): \(refusal.words)")
        }
        // Its folder has both the secret and the way to the admin API.
        let local = try Self.plan("fanout --members --target ws://x --data \(folder)")
        guard case .running(let server) = local.target, case .folder(folder) = server.admin else {
            Issue.record("\(local.target)")
            return
        }
        #expect(server.secretFile == secret)
        #expect(local.commandLine.contains(" --data \(folder)"))
        let distant = try Self.plan(
            "fanout --members \(target) --server wss://x:1 --token secretword --ca-file \(secret)")
        guard case .running(let other) = distant.target, case .url("wss://x:1", token: "secretword") = other.admin
        else {
            Issue.record("\(distant.target)")
            return
        }
        #expect(other.caFile == secret)
        // A token is nothing for a report.
        #expect(distant.commandLine.contains("--server wss://x:1") && !distant.commandLine.contains("secretword"))
        // What wakes nobody needs no simulator.
        _ = try Self.plan("mixed --weights online=1 \(target)")
        _ = try Self.plan("fanout \(target)")
    }

    @Test(
        "what is said wrongly is refused before anything starts, with the option and what is allowed",
        arguments: [
            ("", "Missing expected argument '<scenario>'"), ("calls", "'calls' is invalid"),
            ("online --rate 0", "--rate is more than 0 and at most 1000000 a second, not 0.0."),
            ("online --rate -5", "--rate"), ("online --rate nan", "--rate is more than 0"),
            ("online --rate inf", "--rate is more than 0"), ("online --rate many", "--rate"),
            ("online --rate 5 --concurrency 5", "--rate and --concurrency exclude each other"),
            ("online --concurrency 0", "--concurrency is 1 to 100000, not 0."),
            ("register --sessions 0", "--sessions is 1 to 1000000, not 0."),
            ("online --sessions -1", "--sessions"),
            ("online --duration 0", "--duration is 100ms to 1d."),
            ("online --duration 2d", "--duration is 100ms to 1d."),
            ("online --duration -1s", "'-1s' is no length of time: give one of no less than 0, as 90s."),
            ("online --hold -5", "'-5' is no length of time: give one of no less than 0"),
            ("online --warmup --rate 5", "'--rate' is no length of time"),
            ("online --duration 5x", "'5x' is no length of time"), ("online --duration 1.5", "500ms"),
            (
                "register --duration 5",
                "--duration is for scenarios that go on for a time, not for register; it ends with its last session: "
                    + "give --sessions."
            ),
            (
                "register --warmup 5",
                "--warmup is for scenarios that go on for a time, not for register; each of its sessions counts: "
                    + "leave it out."
            ), ("online --places 5", "--places goes with --rate"),
            ("online --rate 5 --places 0", "--places is 1 to 100000, not 0."),
            (
                "register --rate 5 --places 5",
                "--places is for scenarios whose phones are used again, not for register."
            ),
            ("online --rate 5 --ramp 2d", "--ramp is 0 to 1d."), ("relay --hold 5", "--hold is for"),
            ("online --hold 2d", "--hold is 0 to 1d."),
            ("relay --sdp", "--sdp is for scenarios that place calls, not for relay."),
            ("online --answer-ratio 1.5", "--answer-ratio is 0 to 1, not 1.5."),
            ("online --answer-ratio nan", "--answer-ratio is 0 to 1"),
            (
                "fanout --answer-ratio 0.5",
                "--answer-ratio is for scenarios whose calls are answered or not, not for fanout."
            ),
            ("mixed --weights register=1", "'register=1' is no share"),
            (
                "churn --answer-ratio 1",
                "--answer-ratio is for scenarios whose calls are answered or not, not for churn."
            ),
            ("online --fanout 5", "--fanout is for fanout, and mixed with fanout among its --weights, not for online."),
            ("mixed --weights online=1 --fanout 5", "--fanout is for fanout"),
            ("online --members", "--members is for fanout"), ("wake --asleep", "--asleep is for fanout"),
            ("fanout --members --devices", "members"), ("fanout --fanout 0", "--fanout is 1 to 1000, not 0."),
            ("fanout --fanout 1001", "--fanout is 1 to 1000, not 1001."),
            ("online --weights online=1", "--weights is for mixed, not for online."),
            ("mixed --weights calls=1", "'calls=1' is no share: give them as online=70,wake=20, of online, wake"),
            ("mixed --weights mixed=1", "'mixed=1' is no share"), ("mixed --weights online", "'online' is no share"),
            ("mixed --weights online=x", "the share of online is 0 to 1000, not 'x'"),
            ("mixed --weights online=1,online=2", "online has two shares"),
            ("mixed --weights online=0", "all shares are 0"), ("mixed --weights online=1,", "'' is no share"),
            ("online --faults", "--faults is for mixed, not for online."),
            ("online --seed -1", "--seed"), ("online --threads 0", "--threads is 1 to 64, not 0."),
            ("online --shards 65", "--shards is 1 to 64, not 65."),
            ("register --standing 5", "--standing is for scenarios of calls, not for register."),
            ("online --standing -1", "--standing"), ("online --data /no/such", "--data: there is no folder /no/such."),
            ("online --ca-file /x", "--ca-file goes with --target"),
            ("online --server /x", "--server goes with --target"),
            (
                "online --target http://x --secret-file /x",
                "--target is ws://host:port or wss://host:port, not 'http://x'"
            ),
            ("online --target ws:x --secret-file /x", "--target is ws://"),
            ("online --target ws://x:65536 --secret-file /x", "--target is ws://"),
            ("online --secret-file /x", "--secret-file goes with --target"),
            ("online --metrics-url http://x", "--metrics-url goes with --target"),
            ("online --push-sim-data /x", "--push-sim-data goes with --target"),
            (
                "online --json /no/such/folder/r.json",
                "--json: /no/such/folder/r.json cannot be written (No such file or directory); name a file in a folder"
            ),
            ("online --html -", "--html writes no page to standard output"),
            ("online --html /tmp", "--html: '/tmp' is no file"),
            ("online --html /proc/r.html", "--html: /proc/r.html cannot be written"),
            ("online --json /tmp/r --html /tmp/r", "--json and --html name the same file"),
            ("online --json /tmp/r --html /tmp/./r", "--json and --html name the same file"),
            (
                "online --store mysql://u@h/d", "--store is postgres://user@host/database; what"
            ),
            ("online --store /var/lib/reveille", "--store is postgres://"),
            ("online --kill-home-every 30s", "--kill-home-every goes with --store"),
            (
                "online --store postgres://u@h/d --kill-home-every 14999ms",
                "--kill-home-every is 15s or more: the phones need some of that to come back."
            ),
            (
                "online --store postgres://u@h/d --kill-home-every 16s",
                "--kill-home-every 16s kills nothing: the load ends after 11s; give a longer --duration."
            ),
            ("register --store postgres://u@h/d --kill-home-every 16s", "--kill-home-every does not go with register."),
            ("online --store postgres://u@h/d --kill-home-every 0", "--kill-home-every is 15s or more"),
            ("online --store postgres://u@h/d --kill-home-every often", "'often' is no length of time"),
            (
                "online --store postgres://u@h/d --kill-home-every 30s --tls",
                "--kill-home-every goes without --tls."
            ),
            (
                "online --store postgres://u@h/d --target ws://x --secret-file /x",
                "--store and --kill-home-every are of a server of its own: leave out --target."
            ),
            (
                "online --kill-home-every 30s --target ws://x --secret-file /x",
                "--store and --kill-home-every are of a server of its own: leave out --target."
            ),
        ])
    func wrong(line: String, words: String) {
        let refusal = Self.refusal(line)
        #expect(refusal.exit == 64)
        #expect(refusal.words.contains(words), "\(refusal.words)")
    }

    @Test("a server needs a secret where no data folder of this machine has one", .ownProcess)
    func noSecret() {
        setenv("REVEILLE_DATA", "/nowhere", 1)
        wrong(line: "online --target ws://x", words: "--target needs --secret-file")
    }

    /// What is said of a line before anything starts.
    private static func refusal(_ line: String) -> (exit: Int32, words: String) {
        do {
            try LoadCommand.parse(line.split(separator: " ").map(String.init)).checkBefore()
            return (0, "")
        } catch {
            return (LoadCommand.exitCode(for: error).rawValue, LoadCommand.message(for: error))
        }
    }

    @Test("nothing starts, and no file is left, when a file cannot be written or read")
    func files() async throws {
        let folder = try EmptyFolder()
        for line in [
            "online --json \(folder.path)/r.json --html /no/such/r.html",
            "online --target ws://x --secret-file /no/such/key --json \(folder.path)/r.json",
        ] {
            let run = await CommandRun.of("load \(line)")
            #expect(run.exit == 64)
            #expect(run.output.isEmpty && run.complaints.joined().contains("/no/such/"))
            #expect(run.complaints.first?.hasPrefix("Error: --") == true)
            #expect(run.complaints.dropFirst() == ["See 'reveille load --help'."])
            #expect(try folder.contents == [])
        }
    }

    @Test("a link to the file of the other report is that file, and a device that keeps nothing may be both")
    func sameFile() throws {
        let folder = try EmptyFolder()
        let (file, link) = (folder.path + "/report", folder.path + "/link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        for (json, html) in [(file, link), (link, file)] {
            #expect(Self.refusal("online --json \(json) --html \(html)").words.contains("name the same file"))
            #expect(try folder.contents == ["link"])
        }
        #expect(Self.refusal("online --json /dev/null --html /dev/null") == (0, ""))
    }

    @Test("- is standard output, where nothing but the JSON comes, and no file of that name", .timeLimit(.minutes(5)))
    func standardOutput() async throws {
        let folder = try EmptyFolder()
        let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "reveille").path
        let words = ["load", "online", "--concurrency", "1", "--duration", "200ms", "--warmup", "0", "--json", "-"]
        let run = try await ChildProcess.run(executable, words, folder: folder.path, areErrorsApart: true)
        #expect(run.ending == .exit(0), "\(run.errors)")
        let report = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        #expect(report?["scenario"] as? String == "online" && report?["report_version"] as? Int == 2)
        #expect(run.errors.contains("\ninvite → result "))
        #expect(try folder.contents == [])
    }

    @Test("a length of time may be in milliseconds")
    func milliseconds() throws {
        #expect(try TimeSpan.parse("250ms") == .milliseconds(250))
        #expect(try TimeSpan.parse("0ms") == .zero)
        #expect(try TimeSpan.parse("2m") == .seconds(120))
        for text in ["ms", "1.5ms", "-1ms", "1000000000001ms", "1m s"] {
            #expect(throws: ValidationError.self, "\(text)") { try TimeSpan.parse(text) }
        }
    }

    @Test("a length of time may be a sum of units, the longest first and each once")
    func sums() throws {
        #expect(try TimeSpan.parse("6m30s") == .seconds(390))
        #expect(try TimeSpan.parse("1h30m") == .seconds(5_400))
        #expect(try TimeSpan.parse("1w2d3h4m5s6ms") == .milliseconds(788_645_006))
        #expect(try TimeSpan.parse("0s500ms") == .milliseconds(500))
        #expect(try TimeSpan.parse("90") == .seconds(90))
        for text in [
            "", "30s6m", "1m30m", "1m30", "1m-30s", "1h 30m", "6m30", "m30s", "1M", "١m", "1ms1s",
            "9223372036854775807w",
            "1000000000s1ms", "99999999999999999999s",
        ] {
            #expect(throws: ValidationError.self, "\(text)") { try TimeSpan.parse(text) }
        }
        #expect(try Self.plan("online --duration 6m30s --warmup 1m500ms").warmUp == .milliseconds(60_500))
        #expect(try Self.plan("online --duration 6m30s").duration == .seconds(390))
        // How long ago is given in the same way.
        let ago = try PointInTime.parse("1h30m") - Moment.now
        #expect((Duration.seconds(-5_401) ... .seconds(-5_399)).contains(ago), "\(ago)")
    }

    @Test("a time on the command line is one of the calendar, and nothing stands behind it")
    func times() throws {
        #expect(try PointInTime.parse("2026-09-18T12:00:00.5+02:00").milliseconds == 1_789_725_600_500)
        #expect(try PointInTime.parse("2026-09-18") < PointInTime.parse("2026-09-18 00:01"))
        for text in [
            "2026-02-30", "2026-02-30T00:00:00Z", "2026-09-18T24:00:00Z", "2026-09-18T00:00:00Zxx", "2026-9-18",
            "12026-09-18", "2026-09-18 1:00",
        ] {
            #expect(throws: ValidationError.self, "\(text)") { try PointInTime.parse(text) }
        }
    }

    @Test("its help has every exit code that it ends with")
    func exitCodes() {
        let help = Reveille.helpMessage(for: LoadCommand.self, columns: 120)
        let words = help.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let codes = words.firstRange(of: "Exit code 0:").map { words[$0.lowerBound...].prefix(500) } ?? ""
        for (code, meaning) in [
            (0, "the run passed"), (Exit.failed.rawValue, "an operation failed"),
            (Self.refusal("online --rate 0").exit, "the arguments are wrong"),
            (Exit.after(2).rawValue, "Ctrl-C"), (Exit.after(1).rawValue, "SIGHUP"),
            (Exit.after(15).rawValue, "SIGTERM"),
        ] {
            #expect(codes.contains("\(code): \(meaning)"), "\(code): \(codes)")
        }
    }

    @Test("more connections than files may be open are refused: 2")
    func descriptors() throws {
        let plan = try Self.plan("register --sessions 5000")
        #expect(throws: LoadError.self) { try plan.check(descriptors: 5_000) }
    }
}
