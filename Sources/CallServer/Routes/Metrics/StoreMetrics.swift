import CallVocabulary
import StoreInterface

/// Metrics of the store.
enum StoreMetrics {
    static func add(_ committer: any RecordLog, to report: inout PrometheusText) {
        let commits = committer.statistics
        report.metric("reveille_store_rows_total", .counter, "Rows written to the store.", commits.rows)
        report.metric(
            "reveille_store_failures_total", .counter, "Failed commits, each retried.", commits.failures)
        report.metric(
            "reveille_store_failing", .gauge, "1 while commits fail.", committer.failure == nil ? 0 : 1)
        report.metric(
            "reveille_store_commit_waiting_seconds", .gauge, "Age of the oldest commit that is not durable yet.",
            [("", committer.waitingSince.map { PrometheusText.seconds($0.duration(to: .now)) } ?? 0)])
        report.metric(
            "reveille_store_checkpoints_failing", .gauge,
            "1 while a write-ahead log cannot be merged into its database.",
            commits.checkpointFailure == nil ? 0 : 1)
        let pages = committer.pages
        report.metric(
            "reveille_store_page_checks_total", .counter, "Completed checks of every page of the store.",
            pages.passes)
        report.metric(
            "reveille_store_damaged", .gauge, "1 when the last of them found damage.", pages.damage == nil ? 0 : 1)
        report.metric(
            "reveille_store_behind_records", .gauge, "Records in the journal that are not yet applied to the tables.",
            commits.behind
        )
        report.metric(
            "reveille_store_behind_seconds", .gauge, "Age of the oldest record that is not yet applied to the tables.",
            [("", commits.behindSince.map { PrometheusText.seconds($0.duration(to: .now)) } ?? 0)])
        report.histogram(
            "reveille_store_commit_duration_seconds", "Duration of a durable transaction.",
            [
                (
                    "",
                    PrometheusText.Histogram(
                        buckets: commits.latency.buckets, bounds: LatencyCounts.bounds.map(PrometheusText.seconds),
                        sum: PrometheusText.seconds(commits.latency.total))
                )
            ])
        report.histogram(
            "reveille_store_commit_batches", "Batches per transaction.",
            [
                (
                    "",
                    PrometheusText.Histogram(
                        buckets: commits.groupSizes.buckets, bounds: GroupSizeCounts.bounds.map { Double($0) },
                        sum: Double(commits.batches))
                )
            ])
    }

    static func add(_ retention: RetentionStatistics, to report: inout PrometheusText) {
        report.metric(
            "reveille_retention_runs_total", .counter, "Completed runs of retention.", retention.runs)
        report.metric("reveille_retention_failures_total", .counter, "Failed runs of retention.", retention.failures)
        let deleted = retention.deleted
        report.metric(
            "reveille_retention_deleted_rows_total", .counter, "Rows deleted by retention, by table.",
            [
                ("call", deleted.calls), ("call_party", deleted.parties), ("leg", deleted.legs),
                ("push", deleted.pushes), ("call_descriptions", deleted.descriptions),
                ("call_absence", deleted.absences), ("call_candidates", deleted.candidates),
                ("missed_call", deleted.missed),
            ].map { ("table=\"\($0.0)\"", Double($0.1)) })
        report.metric(
            "reveille_retention_last_run_timestamp_seconds", .gauge, "End of the last run of retention, in Unix time.",
            retention.lastRunEnded.map { [("", Double($0.milliseconds) / 1000)] } ?? [])
    }
}
