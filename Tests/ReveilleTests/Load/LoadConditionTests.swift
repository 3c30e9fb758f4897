import Foundation
import Testing

@testable import LoadTest
@testable import reveille

@Suite("What a load test is failed for")
struct LoadConditionTests {
    /// The sample's p99 of invite_ringing is 40.53 ms, its server_cpu_per_piece 341.27 µs.
    @Test(arguments: [
        ("invite_ringing.p99>50ms", false), ("invite_ringing.p99>40ms", true),
        ("invite_ringing.p99 >= 0.04053 s", true),
        ("invite_ringing.p99>40530us", false), ("invite_ringing.p99>=40530µs", true), ("invite_ringing.p50<9ms", false),
        ("invite_ringing.p50<10ms", true), ("invite_ringing.count<2986", false), ("invite_ringing.count<=2986", true),
        ("server_cpu_per_piece>341us", true), ("server_cpu_per_piece>0.342ms", false), ("server_cores>=0.09", false),
        ("completed_per_second<249/s", true), ("completed_per_second<248", false), ("server_memory_after>48MB", true),
        ("server_memory_growth>3%", true), ("server_memory_growth>0.04", false), ("seconds<12s", false),
        ("ledger_accepted<2991", true), ("own_thread_0_cores>0.9", false),
        // Nobody knows: of nothing, of none, and of another scenario.
        ("server_cpu_per_piece_by_metrics>1s", true), ("hangup_ended.p99>1s", true), ("resume.p99>1s", true),
        ("hangup_ended.count>0", false), ("hangup_ended.count<1", true),
    ])
    func `a run is judged by it`(_ text: String, hasFailed: Bool) throws {
        let judgement = try LoadCondition(text).judge(LoadRecord.sample().report)
        #expect(judgement.hasFailed == hasFailed, "\(judgement.words)")
    }

    @Test(arguments: [
        ("", "it has none of >, >=, <, <="), ("invite_ringing.p99", "it has none of"),
        ("invite_ringing.p98>5ms", "of the stage invite_ringing there are invite_ringing.count"),
        ("invite_ringing>5ms", "of the stage invite_ringing there are"),
        ("p99>5ms", "there is no stage or figure 'p99'"),
        ("completed.p99>5", "there is no stage or figure 'completed'"),
        ("invite_ringing.p99>50", "'50' is no limit; write one in ms, s, us, µs"),
        ("invite_ringing.p99>5min", "'5min' is no limit"), ("invite_ringing.p99>", "'' is no limit"),
        ("completed>many", "'many' is no limit; write a number"), ("server_cores>2 cakes", "'2 cakes' is no limit"),
        ("invite_ringing.p99>1..5ms", "'1..5ms' is no limit"), ("a>5<6", "there is no stage or figure 'a'"),
    ])
    func `what is none is refused with what to write`(_ text: String, words: String) {
        #expect(throws: LoadError.self) { try LoadCondition(text) }
        do {
            _ = try LoadCondition(text)
        } catch {
            #expect(error.description.hasPrefix(words), "\(error.description)")
        }
    }

    @Test func `a run that fails by it says so, ends with 1, and has it in its JSON`() throws {
        let sample = LoadRecord.sample(failed: false, doubts: false)
        var report = sample.report
        report.judge([try LoadCondition("invite_ringing.p99>40ms"), try LoadCondition("completed<10")])
        #expect(report.hasFailed)
        let record = LoadRecord(
            plan: sample.plan, report: report, environment: sample.environment, startedAt: sample.startedAt,
            isInterrupted: false)
        #expect(record.verdict == "The run failed: 1 failed condition.")
        #expect(record.faults == ["invite_ringing.p99 is 40.53 ms: --fail-if 'invite_ringing.p99>40ms'"])
        let conditions = try #require(LoadDocument(record).conditions)
        #expect(conditions.map(\.failed) == [true, false] && conditions.map(\.value) == [40530, 2986])
        #expect(!LoadDocument(record).passed)
    }

    @Test func `every stage has a name for columns, and no two the same`() {
        #expect(Set(LoadStage.allCases.map(\.name)).count == LoadStage.allCases.count)
        #expect(LoadStage.inviteRinging.name == "invite → ringing")
        #expect(LoadStage.allCases.allSatisfy { $0.name.contains(" → ") })
    }
}

@Suite("Two reports side by side")
struct LoadComparisonTests {
    private func document(_ change: (inout LoadReport) -> Void = { _ in }, plan: (inout LoadPlan) -> Void = { _ in })
        -> LoadDocument
    {
        let sample = LoadRecord.sample(failed: false, doubts: false)
        var (newPlan, report) = (sample.plan, sample.report)
        plan(&newPlan)
        change(&report)
        return LoadDocument(
            LoadRecord(
                plan: newPlan, report: report, environment: sample.environment, startedAt: sample.startedAt,
                isInterrupted: false))
    }

    @Test func `what both have is compared, with what makes it doubtful`() throws {
        let before = document()
        let after = document {
            $0.figures[1] = LoadFigure.Work.completedPerSecond.figure(497.6666)
            $0.doubts = ["other work took 0.41 of the machine's 2 cores"]
        } plan: {
            $0.pace = .open(rate: 500)
        }
        let comparison = try LoadComparison(before, after)
        #expect(
            comparison.rows.first
                == LoadComparison.Row(
                    name: "completed per second", before: "249/s", after: "498/s", change: "+100 %"))
        #expect(comparison.rows.contains { $0.name == "invite → ringing, p99" && $0.change == "+0 %" })
        #expect(!comparison.rows.contains { $0.name.hasPrefix("hangup") }, "nothing was timed")
        #expect(
            comparison.doubts == [
                "--rate was 250, then 500", "the second has 1 doubt about its figures",
            ])
        #expect(LoadComparisonText.lines(comparison).contains { $0.contains("DOUBT: --rate was 250, then 500") })
        #expect(try LoadComparison(before, before).doubts == [])
    }

    @Test func `a report of another version is read as far as it goes, and one of another scenario is refused`() throws
    {
        var json = try JSONSerialization.jsonObject(with: document().json()) as? [String: Any] ?? [:]
        json["conditions"] = nil
        func decoded() throws -> LoadDocument {
            try JSONDecoder().decode(LoadDocument.self, from: JSONSerialization.data(withJSONObject: json))
        }
        #expect(try LoadComparison(decoded(), document()).rows.count > 5)
        json["scenario"] = "online"
        #expect(throws: LoadError.self) { try LoadComparison(decoded(), document()) }
        (json["scenario"], json["report_version"]) = ("wake", 1)
        #expect(throws: LoadError.self) { try LoadComparison(decoded(), document()) }
    }
}
