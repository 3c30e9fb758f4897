import AdminProtocol
import CallVocabulary
import Foundation
import Testing

@testable import LoadTest
@testable import reveille

@Suite("The report of a load test for people")
struct LoadTextTests {
    private static func lines(
        _ record: LoadRecord, width: Int?, colour: Bool = false, figures: Bool = false
    ) -> [String] {
        CommandRun.atItsTime(width: width, colour: colour) { LoadText(record: record, hasFigures: figures).lines }
    }

    @Test("on terminals of both widths, and in a pipe", arguments: [80, 120, nil])
    func recorded(width: Int?) throws {
        for figures in [false, true] {
            let lines = Self.lines(.sample(), width: width, figures: figures)
            let name = "load-\(figures ? "figures-" : "")\(width.map(String.init) ?? "pipe").txt"
            try Recording.expect(lines, as: name)
            if let width { #expect(lines.allSatisfy { $0.columns <= width }) }
        }
    }

    @Test("every figure and every stage is in it, at every width", arguments: [80, 120, nil])
    func complete(width: Int?) {
        let record = LoadRecord.sample()
        let lines = Self.lines(record, width: width, figures: true)
        for figure in record.report.figures {
            #expect(lines.contains { $0.hasPrefix("  \(figure.key) ") && $0.contains(figure.text) }, "\(figure.key)")
        }
        for stage in record.report.stages {
            let row = lines.first { $0.hasPrefix("\(stage.name) ") }?.dropFirst(stage.name.count).split(separator: " ")
            #expect(lines.contains { $0.hasPrefix("\(stage.key) ") })
            let times = [stage.p50, stage.p90, stage.p99, stage.p999, stage.max].map { time in
                stage.count > 0 ? StageReport.milliseconds(time) : "-"
            }
            #expect(row?.prefix(6).map(String.init) == ["\(stage.count)"] + times, "\(stage.key)")
        }
    }

    @Test("nothing of others moves the cursor or turns the line")
    func harmless() {
        let text = Self.lines(.sample(), width: 80).joined(separator: "\n")
        #expect(text.contains(#"the server said: \u{1B}[31mred\u{202E}"#))
        #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}"))
    }

    @Test("what comes first says in words whether all went well")
    func verdict() {
        for (record, words, code) in [
            (
                LoadRecord.sample(),
                "The run failed: 14 not begun, 2 failed, 3 sessions lost, 2 other failures, 1 violation.", "31"
            ),
            (
                .sample(isInterrupted: true),
                "The run failed: 14 not begun, 2 failed, 3 sessions lost, 2 other failures, 1 violation, and was interrupted.",
                "31"
            ),
            (
                .sample(failed: false),
                "The run passed with 2 doubts: nothing failed, and the audit found no violation.", "33"
            ),
            (
                .sample(failed: false, doubts: false),
                "The run passed: nothing failed, and the audit found no violation.", "32"
            ),
            (
                .sample(failed: false, doubts: false, isInterrupted: true),
                "The run was interrupted; nothing had failed so far, and the audit found no violation.", "33"
            ),
        ] {
            #expect(
                Self.lines(record, width: 120, colour: true).map(Terminal.rendered).contains(
                    "\u{1B}[\(code)m\(words)\u{1B}[0m"))
        }
    }

    @Test("failures are told apart by what failed, and what is neither call nor session is one of its own")
    func kinds() {
        var failed = FailureCounts()
        failed.others = 1
        #expect(failed.words == ["1 failure"])
        failed.others = 2
        #expect(failed.words == ["2 failures"])
        failed.sessionsLost = 1
        #expect(failed.words == ["1 session lost", "2 other failures"])
        (failed.failed, failed.notOver) = (50, 3)
        #expect(failed.words == ["50 failed", "3 not over", "1 session lost", "2 other failures"])
        #expect(failed.operations == 53)
    }

    @Test(
        "what is known of the books is said, whether calls failed or not",
        arguments: AuditState.allCases, [false, true])
    func books(state: AuditState, failed: Bool) {
        let sample = LoadRecord.sample(failed: failed, doubts: false)
        var report = sample.report
        report.audit = state
        report.violations = state == .broken ? ["2 calls were answered twice"] : []
        if state == .notRead { report.ledger = nil }
        let record = LoadRecord(
            plan: sample.plan, report: report, environment: sample.environment, startedAt: sample.startedAt,
            isInterrupted: false)
        let text = Self.lines(record, width: nil, figures: true).joined(separator: "\n")
        #expect(text.contains("the audit found no violation") == (state == .balanced))
        #expect(text.contains("nothing was audited") == (state == .notRead))
        #expect(text.contains("nothing else was audited") == (state == .ledgerOnly))
        #expect(text.contains("FAILED: violation: 2 calls were answered twice") == (state == .broken))
        #expect(text.contains("intended 2992 = cancelled 2 + expired 0 + sent 2990 + queued 0") == (state != .notRead))
        #expect(LoadDocument(record).audit == state.rawValue)
        #expect(LoadPage(record).html.contains("The run passed") == (state != .broken && !failed))
        #expect(
            LoadPage(record).html.contains("nothing failed, and \(Markup.escaped(state.words))")
                == (state != .broken && !failed))
    }

    @Test("a ledger is said to be without pushes only where it was read")
    func ledger() {
        let sample = LoadRecord.sample()
        let empty = AuditView(balanced: true, intended: 0, provider: [:], report: [:], violations: [], overdue: [])
        for ledger in [empty, nil] {
            var report = sample.report
            report.ledger = ledger
            let record = LoadRecord(
                plan: sample.plan, report: report, environment: sample.environment, startedAt: sample.startedAt,
                isInterrupted: false)
            let lines = Self.lines(record, width: nil, figures: true)
            #expect(lines.contains("no pushes in the ledger") == (ledger != nil))
            #expect(lines.contains("the push ledger was not read") == (ledger == nil))
        }
    }

    @Test("a closed loop says what its times hide, an open one what they count from")
    func pace() {
        let open = LoadRecord.sample()
        var plan = open.plan
        plan.pace = .closed(concurrency: 7)
        let closed = LoadRecord(
            plan: plan, report: open.report, environment: open.environment, startedAt: open.startedAt,
            isInterrupted: false)
        #expect(Self.lines(open, width: nil).contains { $0.hasPrefix("Open loop: 250 operations were due per second") })
        #expect(
            Self.lines(closed, width: nil).contains {
                $0.hasPrefix("Closed loop: 7 operations at a time") && $0.contains("coordinated omission")
            })
    }

    @Test(
        "a value has the digits that say something, and its unit",
        arguments: [
            (2_986.0, Figure.Unit.count, "2986"), (248.8333, .perSecond, "249/s"), (9.994, .perSecond, "9.99/s"),
            (9.996, .perSecond, "10.0/s"), (99.96, .seconds, "100 s"), (0.03125, .seconds, "0.0312 s"),
            (341.27, .microseconds, "341 µs"), (7_612.4, .bytes, "7.61 kB"), (48_123_904, .bytes, "48.1 MB"),
            (999, .bytes, "999 B"), (0.0853, .cores, "0.09 cores"), (0.3125, .ratio, "31.2 %"), (0, .ratio, "0 %"),
            (.infinity, .microseconds, "–"), (.nan, .count, "–"), (-3, .count, "-3"),
        ])
    func values(value: Double, unit: Figure.Unit, text: String) {
        #expect(Figure("key", .work, value, unit, "").text == text)
    }

    @Test("a progress line has the phase, and the figures once there are any")
    func progress() {
        var progress = LoadProgress(phase: .opening(120, of: 1_000), elapsed: .seconds(1))
        #expect(LoadProgressLine.text(progress) == "opening 120 of 1000")
        #expect(LoadProgressLine.text(LoadProgress(phase: .opening(0, of: 0), elapsed: .zero)) == "opening")
        progress = LoadProgress(phase: .measuring, elapsed: .milliseconds(200), of: .seconds(60))
        progress.underWay = 14
        #expect(LoadProgressLine.text(progress) == "measuring 0 of 60 s  14 under way  0 failed")
        progress = LoadProgress(phase: .measuring, elapsed: .milliseconds(12_700), of: .seconds(60))
        (progress.rate, progress.underWay, progress.p99) = (498.6, 14, 4_212)
        progress.failures.failed = 2
        progress.stage = .resume
        #expect(
            LoadProgressLine.text(progress)
                == "measuring 12 of 60 s  499/s  14 under way  2 failed  p99 of resume 4.21 ms")
        progress.phase = .draining
        progress.p99 = 0
        #expect(LoadProgressLine.text(progress) == "waiting for operations under way  499/s  14 under way  2 failed")
        progress.failures.sessionsLost = 120
        #expect(LoadProgressLine.text(progress).hasSuffix("  14 under way  2 failed  120 sessions lost"))
    }
}
