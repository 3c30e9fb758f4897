import AdminProtocol
import ArgumentParser
import CallVocabulary
import Testing

@testable import reveille

@Suite("The probe for monitoring")
struct CheckTests {
    private func run(_ options: String, _ stats: StatsView) async throws -> CommandRun {
        try await ScriptedServer.run({ _ in .result(stats) }) { await $0.command("check \(options)") }
    }

    @Test("a server in order is ok, in each form")
    func ok() async throws {
        for (options, file) in [
            ("", "check.txt"), ("--output prometheus", "check.prom"), ("--output json", "check.json"),
        ] {
            let run = try await run(options, .sample())
            #expect(run.exit == 0)
            #expect(run.complaints.isEmpty)
            try Recording.expect(run.output, as: file)
        }
    }

    /// A way in which a server is not in order.
    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        let limit: String
        let warns: @Sendable (inout StatsView) -> Void
        let alarms: @Sendable (inout StatsView) -> Void
        var testDescription: String { name }
    }

    private static let faults = [
        Fault(name: "oldest_push", limit: "5:15") {
            $0.pushPools[0].oldestQueuedMilliseconds = 5000
        } alarms: {
            $0.pushPools[0].oldestQueuedMilliseconds = 15_000
        },
        Fault(name: "unreported", limit: "10:30") {
            $0.pushes.report = [.reported: 18, .unreported: 2]
        } alarms: {
            $0.pushes.report = [.reported: 14, .unreported: 6]
        },
        Fault(name: "store_waiting", limit: "100:1000") {
            $0.store.waiting = 100
        } alarms: {
            $0.store.waiting = 1000
        },
        Fault(name: "files", limit: "80:95") {
            $0.process.openFiles = 820
        } alarms: {
            $0.process.openFiles = 1000
        },
        Fault(name: "ring_p99", limit: "10:30") {
            $0.stages[0].p99Milliseconds = 10_000
        } alarms: {
            $0.stages[0].p99Milliseconds = 30_000
        },
    ]

    @Test("each figure warns from one limit on and alarms from the next", arguments: faults)
    func limits(fault: Fault) async throws {
        var (warned, alarmed) = (StatsView.sample(), StatsView.sample())
        fault.warns(&warned)
        fault.alarms(&alarmed)
        let option = "--\(fault.name.replacing("_", with: "-"))"
        for (stats, exit, word) in [(warned, Int32(1), "WARNING"), (alarmed, 2, "CRITICAL")] {
            let run = try await run("\(option) \(fault.limit)", stats)
            #expect(run.exit == exit)
            #expect(run.output.count == 1)
            #expect(run.output[0].hasPrefix("REVEILLE \(word) - "))
            #expect(run.output[0].contains("\(fault.name)="))
            #expect(try await self.run("", stats).exit == 0, "the server judges its own figures")
        }
        #expect(try await self.run("\(option) 0:1000000", warned).exit == 1)
        #expect(try await self.run("\(option) :0", .sample()).exit == 2)
    }

    @Test("a critical problem is critical, another one a warning, and an ignored one none")
    func problems() async throws {
        var broken = StatsView.sample()
        broken.problems = [
            ServerProblem(.authorizationDown, of: "invite", isUnready: true, "authorization: |\u{301} and\nnot"),
            ServerProblem(.noStandby, "realm: no server stands by"),
        ]
        let run = try await run("", broken)
        #expect(run.exit == 2)
        // What stands behind a bar is read as figures, and a line break as the end.
        let words = "authorization: /\u{301} and\\u{A}not; realm: no server stands by"
        #expect(run.output[0].contains("CRITICAL - \(words) | "))
        #expect(run.output[0].contains(" problems=2;;;0 critical_problems=1;;;0"))
        #expect(try await self.run("--ignore authorization_down", broken).exit == 1)
        #expect(try await self.run("--ignore authorization_down --ignore no_standby", broken).exit == 0)
        let draining = try await self.run("", .sample(isDraining: true))
        #expect(draining.exit == 1)
        #expect(draining.output[0].hasPrefix("REVEILLE WARNING - draining: this server takes no new calls |"))
        #expect(try await self.run("--ignore draining", .sample(isDraining: true)).exit == 0)
    }

    @Test("of a few reports one that is missing says nothing yet")
    func fewReports() async throws {
        var stats = StatsView.sample()
        stats.pushes.report = [.unreported: 19, .awaited: 100]
        #expect(try await run("--unreported 10:30", stats).exit == 0)
    }

    @Test("a server that is not there or goes away is critical, one of another version unknown")
    func unreachable() async throws {
        let gone = await CommandRun.of("check --server /tmp/no-such-\(UInt32.random(in: 0 ... .max)).sock")
        #expect(gone.exit == 2)
        #expect(gone.output.count == 1)
        #expect(gone.output[0].hasPrefix("REVEILLE CRITICAL - no server is running at "))
        let lost = try await ScriptedServer.run({ _ in .hangUp }) { await $0.command("check --output prometheus") }
        #expect(lost.exit == 2)
        #expect(lost.output.contains("reveille_check_up 0"))
        #expect(lost.output.contains("reveille_check_status 2"))
        let error = AdminError(SignalError(.methodNotFound, "There is no method stats.get."))
        let other = try await ScriptedServer.run({ _ in .error(error) }) { await $0.command("check") }
        #expect(other.exit == 3)
        #expect(other.output[0].hasPrefix("REVEILLE UNKNOWN - the server is of another version"))
        let silent = try await ScriptedServer.run({ _ in .silence }) { await $0.command("check --timeout 1s") }
        #expect(silent.exit == 2)
        #expect(silent.output[0].contains("does not answer"))
    }

    @Test("a server that stands by is judged by its problems, and says where the home is")
    func standby() async throws {
        func run(_ options: String, _ problems: [ServerProblem]) async throws -> CommandRun {
            let view = ReadinessView(isHome: false, standsBy: "standby: the realm's home is one", problems: problems)
            return try await ScriptedServer.run({ _ in .silence }, readiness: view) {
                await $0.command("check \(options)")
            }
        }
        let well = try await run("", [])
        #expect(well.exit == 0)
        let line = "REVEILLE OK - standby: the realm's home is one | problems=0;;;0 critical_problems=0;;;0"
        #expect(well.output == [line])
        #expect(try await run("--output prometheus", []).output.contains("reveille_check_up 1"))
        let warned = [
            ServerProblem(.secretsDiffer, isUnready: true, "a.key differs"), ServerProblem(.reloadRefused, "refused"),
        ]
        let warning = try await run("", warned)
        #expect(warning.exit == 1)
        #expect(warning.output[0].contains("WARNING - standby: the realm's home is one; a.key differs; refused | "))
        #expect(try await run("--ignore secrets_differ --ignore reload_refused", warned).exit == 0)
        #expect(try await run("", [ServerProblem(.certificateExpired, of: "signal", "expired")]).exit == 2)
    }

    @Test("limits are read as WARNING:CRITICAL", arguments: ["x", "", ":", "-1", "5:3", "1:2:3", "nan", "inf"])
    func badLimits(text: String) {
        #expect(Threshold(argument: text) == nil)
    }

    @Test("a limit may have one side, both or none")
    func goodLimits() {
        #expect(Threshold(argument: "5:15") == Threshold(warning: 5, critical: 15))
        #expect(Threshold(argument: "2.5") == Threshold(warning: 2.5))
        #expect(Threshold(argument: ":7") == Threshold(critical: 7))
        #expect(Threshold(argument: "off") == Threshold())
        for text in ["5:15", "2.5", ":7", "off"] { #expect(Threshold(argument: text)?.description == text) }
    }
}
