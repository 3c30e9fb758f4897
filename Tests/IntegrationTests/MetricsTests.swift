import CallServer
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import StoreTesting
import Testing

@Suite("Metrics", .world)
struct MetricsTests {
    @Test(
        """
        each served metric is documented with its type and labels, each documented one is served, promtool finds no \
        problem, and the values match the call
        """)
    func served() async throws {
        let (_, server) = try await world.startPushing { $0.logLinesDropped = { 41 } }
        try await Self.traffic(server.address)
        let banner = try await HTTPAnswer.curl("http://\(try #require(server.metricsAddress))/").body
        #expect(banner.contains("for operators") && !banner.contains("signal"), "\(banner)")
        let text = try await HTTPAnswer.curl(server, "/metrics").body
        try Self.checkFigures(text)
        try await Self.checkForm(text)
        let nodes = try await Self.realm()
        try Self.checkDocuments(text + "\n" + nodes)
    }

    /// A call to a sleeping phone, and one to an unknown user.
    static func traffic(_ address: some CustomStringConvertible) async throws {
        let bob = try await world.sleepingPhone("bob", at: address)
        let alice = try await world.onlinePhone("alice", at: address)
        let call = try await alice.softphone.call(.user("bob"))
        try await alice.isAnswered(by: bob, call)
        try await alice.hangUp(call)
        await #expect(throws: SoftphoneError.self) { try await alice.softphone.call(.user("nobody")) }
    }

    /// What the home and the standby of a realm serve.
    private static func realm() async throws -> String {
        let database = try await PostgresServer.freshAddress()
        var texts: [String] = []
        for (name, message) in [("home", "is the realm's home"), ("standby", "standing by")] {
            let folder = world.folder + "/" + name
            let node = try world.start(
                Program.reveille, ["serve", "--data", folder, "--port", "0", "--node", name],
                environment: [
                    "REVEILLE_STORE": database.uri, "REVEILLE_REALM": database.realm, "REVEILLE_METRICS_LISTEN": "off",
                ])
            try await node.errors.first(message) { $0.contains(message) ? true : nil }
            let answer = try await HTTPAnswer.curl("--unix-socket", folder + "/admin.sock", "http://reveille/metrics")
            texts.append(answer.body)
        }
        return texts.joined(separator: "\n")
    }

    private static func checkDocuments(_ text: String) throws {
        let list = try MetricList()
        var types: [String: String] = [:]
        for line in text.split(separator: "\n") where line.hasPrefix("# TYPE ") {
            let words = line.split(separator: " ")
            types[String(words[2])] = String(words[3])
        }
        #expect(Set(types.keys).symmetricDifference(list.metrics.keys).sorted() == [])
        for (name, type) in types { #expect(list.metrics[name]?.type == type, "\(name)") }
        var series = 0
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let name = String(line.prefix { $0 != "{" && $0 != " " })
            let labels = Set(line.matches(of: /[{,]([a-z_]+)="/).map { String($0.output.1) }).subtracting(["le"])
            let found = list.metric(ofSeries: name)
            #expect(found?.metric.labels == labels, "\(line)")
            series += 1
        }
        #expect(series > 150)
    }

    /// By reason, limit, queue and outcome.
    private static func checkFigures(_ text: String) throws {
        let lines = text.split(separator: "\n")
        func value(_ series: String) -> Double? {
            lines.first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
        }
        #expect(value(#"reveille_calls_ended_total{reason="hangup"}"#) == 1)
        #expect(value(#"reveille_limits_hit_total{limit="live_calls"}"#) == 0)
        #expect(value(#"reveille_push_reports{report="reported"}"#) == 1)
        #expect(value(#"reveille_queue_depth{queue="core"}"#) == 0)
        #expect(value(#"reveille_queue_capacity{queue="core"}"#) == 100_000)
        #expect(value(#"reveille_queue_refused_total{queue="shard_0"}"#) == 0)
        let busy = try #require(value(#"reveille_loop_busy_seconds_total{loop="core"}"#))
        #expect(busy > 0.001 && busy < 60)
        #expect(try #require(value(#"reveille_loop_turn_duration_seconds_count{loop="core"}"#)) > 20)
        #expect(value("reveille_ready") == 1)
        #expect(value("reveille_store_failing") == 0)
        #expect(value("reveille_log_lines_dropped_total") == 41)
        let commits = try #require(value("reveille_store_commit_duration_seconds_count"))
        #expect(commits > 5)
        #expect(value(#"reveille_store_commit_duration_seconds_bucket{le="+Inf"}"#) == commits)
        #expect(value("reveille_store_commit_batches_count") == commits)
        #expect(try #require(value("reveille_store_commit_batches_sum")) >= commits)
        #expect(try #require(value("reveille_store_commit_duration_seconds_sum")) > 0)
        let now = Date().timeIntervalSince1970
        let started = try #require(value("process_start_time_seconds"))
        #expect(started < now + 2 && started > now - 24 * 3600)
        #expect((5...1_000_000).contains(try #require(value("process_open_fds"))))
        #expect(try #require(value("process_open_fds")) < (try #require(value("process_max_fds"))))
        #expect(try #require(value("process_threads")) >= 5)
        #expect(try #require(value("process_resident_memory_bytes")) > 10_000_000)
        #expect(try #require(value("process_cpu_seconds_total")) > 0)
    }

    private static func checkForm(_ text: String) async throws {
        let file = world.folder + "/metrics"
        // The lines lack the final line break.
        try (text + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await Program.run("/bin/sh", ["-c", "promtool check metrics < '\(file)'"])
        #expect(result.ending == .exit(0) && result.output.isEmpty, "\(result.output) \(result.errors)")
    }

    @Test("dashboard and alerts use existing metrics and labels, and each alert has advice")
    func names() throws {
        let list = try MetricList()
        let panels = try MetricList.panels()
        let alarms = try MetricList.alarms()
        let text = try String(
            contentsOf: MetricList.package.appending(path: "Resources/prometheus/alerts.yml"), encoding: .utf8)
        // All of them are checked.
        #expect(panels.count > 25 && alarms.count > 18)
        #expect(alarms.count == text.components(separatedBy: "alert: ").count - 1)
        for expression in panels.flatMap(\.expressions) + Array(alarms.values) {
            let names = MetricList.names(in: expression)
            #expect(!names.isEmpty || expression.contains("up{"), "\(expression)")
            var labels: Set<String> = ["instance", "job", "le"]
            for name in names {
                let found = list.metric(ofSeries: name)
                #expect(found != nil, "\(name) is not documented")
                labels.formUnion(found?.metric.labels ?? [])
            }
            for match in expression.matches(of: /[{,]\s*([a-z_]+)(?:=~|!~|=|!=)"/) {
                #expect(labels.contains(String(match.output.1)), "\(expression)")
            }
            for match in expression.matches(of: /\b(?:by|on) \(([^)]*)\)/) {
                let names = match.output.1.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                #expect(labels.isSuperset(of: names), "\(expression)")
            }
        }
        for key in ["summary: ", "description: ", "action: ", "severity: "] {
            #expect(text.components(separatedBy: key).count - 1 >= alarms.count, "\(key)")
        }
    }

    @Test("a panel or an alert shows each metric of refusals and failures, of webhooks and of the authorization hook")
    func shown() throws {
        let list = try MetricList()
        let expressions = try MetricList.panels().flatMap(\.expressions) + MetricList.alarms().values
        let shown = expressions.flatMap { MetricList.names(in: $0) }.compactMap { list.metric(ofSeries: $0)?.name }
        let words = ["refus", "failed", "dropped", "given_up", "reveille_webhook_", "reveille_authorization_"]
        let wanted = list.metrics.keys.filter { name in words.contains { name.contains($0) } }
        #expect(wanted.count > 25)
        #expect(Set(wanted).subtracting(shown).sorted() == [])
    }

    @Test("no article, alert or dashboard names an unknown metric")
    func mentions() throws {
        let list = try MetricList()
        var texts: [URL] = ["README.md", "Resources/prometheus/alerts.yml", "Resources/grafana/reveille.json"]
            .map { MetricList.package.appending(path: $0) }
        let sources = MetricList.package.appending(path: "Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "md" { texts.append(file) }
        #expect(texts.count > 25)
        let samples = MetricList.package.appending(path: "Resources/clients/flutter")
        let modules = try FileManager.default.contentsOfDirectory(at: samples, includingPropertiesForKeys: nil)
            .map { $0.deletingPathExtension().lastPathComponent }
        var seen: Set<String> = []
        for file in texts {
            // The probe's metrics are in another list; some names of programs and modules look like metrics.
            for name in MetricList.names(in: try String(contentsOf: file, encoding: .utf8))
            where !name.hasPrefix("reveille_check_") && name != "process_id" && !modules.contains(name) {
                seen.insert(name)
                #expect(list.metric(ofSeries: name) != nil, "\(file.lastPathComponent) names \(name)")
            }
        }
        #expect(seen.count > 60)
    }

    @Test("each alert fires for its condition only, according to promtool")
    func alarms() async throws {
        let folder = world.folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let tests = try #require(Bundle.module.url(forResource: "Prometheus", withExtension: nil))
            .appending(path: "alerts-test.yml")
        let rules = MetricList.package.appending(path: "Resources/prometheus/alerts.yml")
        try FileManager.default.copyItem(atPath: rules.path, toPath: folder + "/alerts.yml")
        try FileManager.default.copyItem(atPath: tests.path, toPath: folder + "/alerts-test.yml")
        let check = try await Program.run("/usr/bin/promtool", ["check", "rules", folder + "/alerts.yml"])
        #expect(check.ending == .exit(0) && check.output.contains("SUCCESS"), "\(check.output) \(check.errors)")
        let result = try await Program.run("/usr/bin/promtool", ["test", "rules", folder + "/alerts-test.yml"])
        #expect(result.ending == .exit(0), "\(result.output) \(result.errors)")
        let text = try String(contentsOf: tests, encoding: .utf8)
        for name in try MetricList.alarms().keys {
            #expect(
                text.contains("- name: \(name) fires\n") && text.contains("- name: \(name) stays silent\n"), "\(name)")
        }
    }
}
