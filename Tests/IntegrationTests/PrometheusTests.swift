import CallServer
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import TestCleanup
import Testing

/// A Prometheus server on this machine that scrapes a Reveille server.
@Suite("Prometheus", .world)
struct PrometheusTests {
    private struct Answer: Decodable {
        struct Result: Decodable {
            var result: [Series]
        }
        struct Series: Decodable {
            var metric: [String: String]
        }
        var status: String
        var error: String?
        var data: Result?
    }

    /// Panels that are empty after a short run without problems.
    private static let empty: Set<String> = [
        "Refusals by reason", "Limits hit", "Refused sessions and tokens", "Refused HTTP requests", "Webhook backlog",
        "Oldest undelivered event", "Webhook attempts",
        "Home", "Standbys", "Lease left", "Take-overs",
    ]

    @Test(
        "evaluates each expression of dashboard and alerts; those with data return it, and no alert fires"
    )
    func expressions() async throws {
        let (_, server) = try await world.startPushing()
        let url = try await start(reading: server)
        // Rates need two scrapes.
        try await scraped(url, times: 2)
        try await MetricsTests.traffic(server.address)
        try await scraped(url, times: 6)

        for (title, expressions) in try MetricList.panels() {
            var series = 0
            for expression in expressions {
                let expression = expression.replacing("$__rate_interval", with: "1m").replacing("$instance", with: ".*")
                let answer = try await ask(url, expression)
                #expect(answer.status == "success", "\(title): \(expression): \(answer.error ?? "")")
                series += answer.data?.result.count ?? 0
            }
            #expect(series > 0 || Self.empty.contains(title), "\(title)")
        }
        for (name, expression) in try MetricList.alarms() {
            let answer = try await ask(url, expression)
            #expect(answer.status == "success", "\(name): \(answer.error ?? "")")
            #expect(answer.data?.result.isEmpty == true, "\(name)")
        }
        let alarms = try await ask(url, "ALERTS")
        #expect(alarms.data?.result.isEmpty == true)
        #expect(try await ask(url, "sum(").status == "error")
    }

    /// - Returns: the address of its API.
    private func start(reading server: CallServer) async throws -> String {
        let folder = world.folder + "/prometheus"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let rules = MetricList.package.appending(path: "Resources/prometheus/alerts.yml").path
        try """
        global: {scrape_interval: 1s, evaluation_interval: 1s}
        scrape_configs:
          - job_name: reveille
            static_configs: [{targets: ["\(HTTPAnswer.place(server, "/metrics"))"]}]
        rule_files: ["\(rules)"]
        """.write(toFile: folder + "/prometheus.yml", atomically: true, encoding: .utf8)
        let port = try freePort()
        _ = try world.start(
            "/usr/bin/prometheus",
            [
                "--config.file=\(folder)/prometheus.yml", "--storage.tsdb.path=\(folder)/data",
                "--web.listen-address=127.0.0.1:\(port)", "--log.level=warn",
            ], environment: ["GOMAXPROCS": "1"])
        let url = "http://127.0.0.1:\(port)"
        _ = try await eventually("Prometheus is ready", within: .seconds(30)) {
            let result = try await Program.run("/usr/bin/curl", ["--silent", "--max-time", "5", url + "/-/ready"])
            return result.output.contains("Ready") ? true : nil
        }
        return url
    }

    private func scraped(_ url: String, times: Int) async throws {
        let start = Date().timeIntervalSince1970
        _ = try await eventually("\(times) more scrapes", within: .seconds(30)) {
            let age = Int(Date().timeIntervalSince1970 - start) + 1
            let answer = try await ask(url, "count_over_time(up{job=\"reveille\"}[\(age)s]) >= \(times)")
            return answer.data?.result.isEmpty == false ? true : nil
        }
    }

    private func ask(_ url: String, _ expression: String) async throws -> Answer {
        let result = try await Program.run(
            "/usr/bin/curl",
            ["--silent", "--max-time", "10", "--data-urlencode", "query=\(expression)", url + "/api/v1/query"])
        #expect(result.ending == .exit(0), "\(result.errors)")
        // Every expression here returns a list of series; a scalar or string fails to decode.
        return try JSONDecoder().decode(Answer.self, from: Data(result.output.utf8))
    }
}
