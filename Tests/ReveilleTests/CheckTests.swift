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
        let warns: @Sendable (inout StatsView) -> Void
        let alarms: @Sendable (inout StatsView) -> Void
        var testDescription: String { name }
    }

    private static let faults = [
        Fault(name: "oldest_push") {
            $0.pushPools[0].oldestQueuedMilliseconds = 5000
        } alarms: {
            $0.pushPools[0].oldestQueuedMilliseconds = 15_000
        },
        Fault(name: "unreported") {
            $0.pushes.report = [.reported: 18, .unreported: 2]
        } alarms: {
            $0.pushes.report = [.reported: 14, .unreported: 6]
        },
        Fault(name: "store_waiting") {
            $0.store.waiting = 100
        } alarms: {
            $0.store.waiting = 1000
        },
        Fault(name: "files") {
            $0.process.openFiles = 820
        } alarms: {
            $0.process.openFiles = 1000
        },
        Fault(name: "ring_p99") {
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
            let run = try await run("", stats)
            #expect(run.exit == exit)
            #expect(run.output.count == 1)
            #expect(run.output[0].hasPrefix("REVEILLE \(word) - "))
            #expect(run.output[0].contains("\(fault.name)="))
            #expect(try await self.run("\(option) off", stats).exit == 0)
        }
        #expect(try await self.run("\(option) 0:1000000", warned).exit == 1)
        #expect(try await self.run("\(option) :0", .sample()).exit == 2)
    }

    @Test("an open circuit, a broken law and an unready server are critical, a drain is a warning")
    func states() async throws {
        var circuit = StatsView.sample()
        circuit.pushPools[0].isCircuitOpen = true
        #expect(try await run("", circuit).exit == 2)
        var law = StatsView.sample()
        law.pushes.violations = ["2 pushes are sent | and\nnot"]
        let broken = try await run("", law)
        #expect(broken.exit == 2)
        // What stands behind a bar is read as figures, and a line break as the end.
        #expect(broken.output[0].contains("CRITICAL - 2 pushes are sent / and\\u{A}not | "))
        var unready = StatsView.sample()
        unready.problems = ["push: 3 waiting, without a connection to apns"]
        #expect(try await run("", unready).output[0].contains("- push: 3 waiting, without a connection to apns |"))
        let draining = try await run("", .sample(isDraining: true))
        #expect(draining.exit == 1)
        #expect(draining.output[0].hasPrefix("REVEILLE WARNING - the server drains |"))
        #expect(try await run("--draining off", .sample(isDraining: true)).exit == 0)
    }

    @Test("of a few reports one that is missing says nothing yet")
    func fewReports() async throws {
        var stats = StatsView.sample()
        stats.pushes.report = [.unreported: 19, .awaited: 100]
        #expect(try await run("", stats).exit == 0)
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
