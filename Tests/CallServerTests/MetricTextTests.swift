import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import Foundation
import RecordTables
import StoreInterface
import TestCleanup
import Testing

@testable import CallServer
@testable import CallStore
@testable import EventLoop

@Suite("Metrics as text", .cleanup)
struct MetricTextTests {
    private static let start = Instant(milliseconds: 1_772_353_800_000)

    @Test("the monitor's figures contain each live state, and each stage as a consistent histogram")
    func monitor() {
        var stages = StageLatencies()
        for milliseconds in [5, 300, 200_000] {
            stages.record(.inviteToRinging, .milliseconds(milliseconds), now: Self.start)
        }
        var report = PrometheusText()
        MonitorMetrics.add(calls: [.ringing: 2, .connected: 7], stages: stages, to: &report)
        let lines = Set(report.text.split(separator: "\n"))
        for line in [
            #"reveille_calls_in_state{state="ringing"} 2"#, #"reveille_calls_in_state{state="connected"} 7"#,
            #"reveille_calls_in_state{state="routing"} 0"#,
            #"reveille_call_stage_duration_seconds_bucket{stage="invite_to_ringing",le="0.01"} 1"#,
            #"reveille_call_stage_duration_seconds_bucket{stage="invite_to_ringing",le="0.25"} 1"#,
            #"reveille_call_stage_duration_seconds_bucket{stage="invite_to_ringing",le="0.5"} 2"#,
            #"reveille_call_stage_duration_seconds_bucket{stage="invite_to_ringing",le="180"} 2"#,
            #"reveille_call_stage_duration_seconds_bucket{stage="invite_to_ringing",le="+Inf"} 3"#,
            #"reveille_call_stage_duration_seconds_sum{stage="invite_to_ringing"} 200.305"#,
            #"reveille_call_stage_duration_seconds_count{stage="invite_to_ringing"} 3"#,
            #"reveille_call_stage_duration_seconds_count{stage="push_sent_to_woken"} 0"#,
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
        #expect(!report.text.contains(#"state="ended""#))
    }

    @Test("the journal's backlog is exported with the age of its oldest entry, until it is in the tables")
    func behind() async throws {
        var behind = WriteBehind.always
        behind.delay = .seconds(3600)
        let committer = try GroupCommitter(
            store: try CallStore.open(folder: DataFolder.temporary().path), behind: behind)
        await withCheckedContinuation { continuation in
            let device = DeviceKey(user: Handle("bob")!, device: DeviceID(high: 1, low: 2))
            let isTaken = committer.commit(batch: [.deviceDropped(device)]) { _ in continuation.resume() }
            #expect(isTaken)
        }
        func value(_ name: String) -> Double? {
            var report = PrometheusText()
            StoreMetrics.add(committer, to: &report)
            let line = report.text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
            return line?.split(separator: " ").last.flatMap { Double($0) }
        }
        #expect(value("reveille_store_behind_records") == 1)
        #expect(try #require(value("reveille_store_behind_seconds")) > 0)
        await committer.flush()
        #expect(value("reveille_store_behind_records") == 0)
        #expect(value("reveille_store_behind_seconds") == 0)
        await committer.close()
    }

    @Test("a loop's busy time and turns are exported, once for each loop")
    func loops() async throws {
        let (core, shard) = (try EventLoop(name: "core"), try EventLoop(name: "shard"))
        // One shard shares the core's loop, as without TLS.
        #expect(LoopMetrics.loops(core: core, shards: [core]).map(\.name) == ["core"])
        let all = LoopMetrics.loops(core: core, shards: [shard, shard])
        #expect(all.map(\.name) == ["core", "shard_0", "shard_1"])
        #expect(all.map { $0.loop === core } == [true, false, false])
        for loop in [core, shard] {
            loop.start()
            await loop.stopAndWait()
        }
        var report = PrometheusText()
        LoopMetrics.add(
            [("core", LoopStatistics(busy: .milliseconds(1500), turns: [7, 0, 1, 2, 0, 3]))], to: &report)
        for line in [
            #"reveille_loop_busy_seconds_total{loop="core"} 1.5"#,
            #"reveille_loop_turn_duration_seconds_bucket{loop="core",le="0.001"} 7"#,
            #"reveille_loop_turn_duration_seconds_bucket{loop="core",le="0.025"} 8"#,
            #"reveille_loop_turn_duration_seconds_bucket{loop="core",le="0.5"} 10"#,
            #"reveille_loop_turn_duration_seconds_bucket{loop="core",le="+Inf"} 13"#,
            #"reveille_loop_turn_duration_seconds_sum{loop="core"} 1.5"#,
            #"reveille_loop_turn_duration_seconds_count{loop="core"} 13"#,
        ] {
            #expect(report.text.contains("\n\(line)\n"), "\(line)")
        }
    }

    @Test("retention is counted by table")
    func retention() {
        var report = PrometheusText()
        var retention = RetentionStatistics()
        retention.runs = 2
        retention.failures = 1
        retention.deleted.calls = 10
        retention.deleted.pushes = 30
        retention.lastRunEnded = Self.start + .milliseconds(500)
        StoreMetrics.add(retention, to: &report)
        for line in [
            "reveille_retention_runs_total 2", "reveille_retention_failures_total 1",
            #"reveille_retention_deleted_rows_total{table="push"} 30"#,
            "reveille_retention_last_run_timestamp_seconds 1772353800.5",
        ] {
            #expect(report.text.contains("\n\(line)\n"), "\(line)")
        }
    }

    @Test("a histogram without labels has the bound as its only label, and characters that end a label are omitted")
    func form() {
        var report = PrometheusText()
        report.histogram(
            "x_seconds", "x", [("", PrometheusText.Histogram(cumulative: [(0.000064, 1), (nil, 2)], sum: 0.5))])
        #expect(
            report.text.contains(
                "\nx_seconds_bucket{le=\"6.4e-05\"} 1\nx_seconds_bucket{le=\"+Inf\"} 2\nx_seconds_sum 0.5\n"))
        #expect(PrometheusText.label("a\"b\\c\nd") == "abcd")
    }
}
