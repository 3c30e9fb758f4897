import CallVocabulary
import PushClient
import PushCore

/// Metrics of the push path, labeled by provider, environment and credential.
struct PushMetrics {
    private let push: PushStatistics
    private let now: Instant

    static func add(_ push: PushStatistics, now: Instant, to report: inout PrometheusText) {
        let metrics = Self(push: push, now: now)
        metrics.addGauges(to: &report)
        metrics.addCounters(to: &report)
        metrics.addOutcomes(to: &report)
        report.metric(
            "reveille_push_mapping", .gauge, "Alerts that wait for the FCM token of an iPhone.",
            push.mapping)
        report.metric("reveille_push_refused_total", .counter, "Pushes without a configured credential.", push.refused)
    }

    private func addGauges(to report: inout PrometheusText) {
        func each(_ name: String, _ help: String, _ value: (PushStatistics.Pool) -> Double) {
            report.metric(name, .gauge, help, push.pools.map { (Self.labels(of: $0), value($0)) })
        }
        each("reveille_push_queue_depth", "Pushes queued to be sent.") { Double($0.queueDepth) }
        each("reveille_push_queue_age_seconds", "Age of the oldest queued push.") { pool in
            pool.oldestWaiting.map { Double(max(0, (now - $0).wholeMilliseconds)) / 1000 } ?? 0
        }
        each("reveille_push_held", "Queued pushes held back because their device is throttled.") { Double($0.held) }
        each("reveille_push_throttled_devices", "Devices throttled by the provider.") { Double($0.throttledDevices) }
        each("reveille_push_streams", "Requests in flight.") { Double($0.streamsInFlight) }
        each("reveille_push_connections", "Open connections to the provider.") { Double($0.openConnections) }
        each("reveille_push_credential_failures", "Consecutive refusals of the server's credential.") {
            Double($0.credential.failures)
        }
        each("reveille_push_circuit_open", "1 while nothing is sent because the credential is refused.") {
            $0.circuit == .closed ? 0 : 1
        }
        each("reveille_push_suspect_topics", "Topics whose recent pushes were all refused.") {
            Double($0.suspectTopics.count)
        }
        report.metric(
            "reveille_push_certificate_expiry_timestamp_seconds", .gauge,
            "Expiry of a client certificate, in Unix time.",
            push.pools.compactMap { pool in
                pool.certificateExpiresAt.map { (Self.labels(of: pool), Double($0.wholeSeconds)) }
            })
    }

    private func addCounters(to report: inout PrometheusText) {
        func each(_ name: String, _ help: String, _ value: (PushCounters) -> UInt64) {
            report.metric(
                name, .counter, help, push.pools.map { (Self.labels(of: $0), Double(value($0.counters))) })
        }
        each("reveille_push_requests_total", "Requests sent, retries included.", \.sent)
        each("reveille_push_returned_total", "Pushes that the provider did not process, queued again.", \.returned)
        each("reveille_push_goaways_total", "GOAWAY frames received.", \.goAways)
        each("reveille_push_connections_opened_total", "Connections opened.", \.connectionsOpened)
        each(
            "reveille_push_connections_failed_total", "Connections that failed before a request was answered.",
            \.connectionsFailed)
        each("reveille_push_provider_tokens_total", "Provider tokens signed or fetched.", \.tokensSigned)
        each(
            "reveille_push_provider_tokens_failed_total", "Failures to sign or fetch a provider token.", \.tokensFailed)
        each("reveille_push_circuits_opened_total", "Times the circuit breaker opened.", \.circuitsOpened)
        addTimes(
            "reveille_push_latency_seconds", "Time from a request to its response.", to: &report, \.counters.latency)
        addTimes(
            "reveille_push_wire_seconds", "Time from the decision to push a call to its request on the connection.",
            to: &report,
            \.timeToWire)
    }

    private func addTimes(
        _ name: String, _ help: String, to report: inout PrometheusText,
        _ times: (PushStatistics.Pool) -> LatencyHistogram
    ) {
        report.histogram(
            name, help,
            push.pools.map { pool in
                let times = times(pool)
                return (
                    Self.labels(of: pool),
                    PrometheusText.Histogram(
                        cumulative: times.cumulative.map { ($0.bound.map { Double($0) / 1000 }, $0.count) },
                        sum: Double(times.total.wholeMilliseconds) / 1000)
                )
            })
    }

    private func addOutcomes(to report: inout PrometheusText) {
        report.metric(
            "reveille_push_outcomes_total", .counter, "Finished pushes, by outcome at the provider.",
            push.pools.flatMap { pool in
                let counters = pool.counters
                let outcomes = [
                    ("accepted", counters.accepted), ("rejected", counters.rejected), ("unknown", counters.unknown),
                    ("unsent", counters.unsent),
                ]
                return outcomes.map { (Self.labels(of: pool, "outcome", $0.0), Double($0.1)) }
            })
        report.metric(
            "reveille_push_unsent_total", .counter, "Pushes never sent, by cause.",
            push.pools.flatMap { pool in
                PushCounters.UnsentCause.allCases.map { cause in
                    (
                        Self.labels(of: pool, "cause", cause.rawValue),
                        Double(pool.counters.unsentByCause[cause] ?? 0)
                    )
                }
            })
        report.metric(
            "reveille_push_refusals_total", .counter, "Refusals by the provider, by reason.",
            push.pools.flatMap { pool in
                let refusals = pool.counters.refusals
                let known = refusals.counts.sorted { $0.key < $1.key }
                let all = refusals.other > 0 ? known + [(key: "other", value: refusals.other)] : known
                return all.map { reason, count in (Self.labels(of: pool, "reason", reason), Double(count)) }
            })
    }

    /// The credential's name comes from a file, so it is escaped.
    private static func labels(of pool: PushStatistics.Pool) -> String {
        "provider=\"\(pool.provider.rawValue)\",environment=\"\(pool.environment.rawValue)\","
            + "credential=\"\(PrometheusText.label(pool.credentialName))\""
    }

    private static func labels(of pool: PushStatistics.Pool, _ name: String, _ value: String) -> String {
        "\(labels(of: pool)),\(name)=\"\(PrometheusText.label(value))\""
    }
}
