import CallVocabulary
import Foundation
import Testing

@testable import LoadTest
@testable import reveille

@Suite("The HTML report of a load test")
struct LoadPageTests {
    private static func page(_ record: LoadRecord = .sample()) throws -> PageElement {
        try PageElement.root(of: LoadPage(record).html)
    }

    @Test("is as recorded")
    func recorded() throws {
        try Recording.expect(LoadPage(.sample()).html.components(separatedBy: "\n").dropLast(), as: "load.html")
    }

    @Test("is well-formed, and loads and runs nothing")
    func alone() throws {
        let page = try Self.page()
        let active: Set = [
            "script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use",
        ]
        #expect(active.isDisjoint(with: page.all.map(\.name)))
        for element in page.all {
            let attributes = Set(element.attributes.keys)
            #expect(attributes.isDisjoint(with: ["src", "href", "srcset", "data", "action", "xlink:href", "style"]))
            #expect(!attributes.contains { $0.hasPrefix("on") })
        }
        let style = try #require(page.first("style")?.text)
        #expect(!style.contains("url(") && !style.contains("@import"))
    }

    @Test("escapes the text of others")
    func escaped() throws {
        let text = try Self.page().text
        #expect(text.contains("2 × call.invite: <script>alert('x')</script> & \"worse\""))
        #expect(text.contains(#"the server said: \u{1B}[31mred\u{202E}"#))
        #expect(text.contains("A <processor> & more"))
        #expect(
            Markup.escaped("a<b>&\"'\u{0}\u{FFFE}\u{2028}\n") == "a&lt;b&gt;&amp;&quot;&#39;\\u{0}\\u{FFFE}\\u{2028}\n")
    }

    @Test("has every figure, stage, failure, violation and doubt")
    func complete() throws {
        let record = LoadRecord.sample()
        let page = try Self.page(record)
        let rows = page.all.filter { $0.name == "tr" }.map { row in row.children.map(\.text) }
        for figure in record.report.figures {
            #expect(rows.contains([figure.key, figure.text, figure.definition]), "\(figure.key)")
        }
        for stage in record.report.stages {
            let times = [stage.min, stage.p50, stage.p90, stage.p99, stage.p999, stage.max].map { time in
                stage.count > 0 ? StageReport.milliseconds(time) : "–"
            }
            #expect(rows.contains([stage.key, "\(stage.count)"] + times + [stage.definition]), "\(stage.key)")
        }
        let items = page.all.filter { $0.name == "li" }.map(\.text)
        for doubt in record.report.doubts { #expect(items.contains(doubt)) }
        for violation in record.report.violations { #expect(items.contains("violation: \(violation)")) }
        #expect(items.contains("14 × \(Recorder.nobodyFree)"))
        #expect(items.contains("sent 2990 = accepted 2990 + rejected 0 + unknown 0 + in flight 0"))
        #expect(page.first("pre")?.text == record.plan.commandLine)
        #expect(page.text.contains(record.verdict) && page.text.contains(record.paceNote))
    }

    @Test("of a run without results has no charts")
    func empty() throws {
        let sample = LoadRecord.sample()
        let record = LoadRecord(
            plan: sample.plan, report: LoadReport(scenario: .online), environment: sample.environment,
            startedAt: sample.startedAt, isInterrupted: true)
        let page = try Self.page(record)
        #expect(page.text.contains("The run was interrupted"))
        #expect(page.first("svg") == nil)
    }

    @Test("draws each point at its place on the axes, and breaks a line at a gap")
    func drawn() throws {
        let chart = Chart(
            title: "t", caption: "c", x: .linear(upTo: 11) { "\($0)" }, y: .linear(upTo: 263) { "\($0)" },
            lines: [Chart.Line(name: "n", colour: 0, points: [(0, 0), (3, 150), nil, (12, 300)])])
        let lines = try PageElement.root(of: chart.markup.html).all.filter { $0.name == "polyline" }
        #expect(lines.map { $0.attributes["points"] } == ["66.0,266.0 185.5,139.0", "544.0,12.0"])
    }

    @Test("has a line for each series and stage with samples, with all their points")
    func charts() throws {
        let report = LoadRecord.sample().report
        let charts = report.charts
        func points(_ title: String, _ line: String) throws -> Int {
            let chart = try #require(charts.first { $0.title.hasPrefix(title) })
            return try #require(chart.lines.first { $0.name == line }).points.count { $0 != nil }
        }
        for line in ["begun", "completed", "failed"] { #expect(try points("Operations per second", line) == 12) }
        #expect(try points("Under way", "under way") == 12)
        #expect(try points("Latency of invite_result", "p99") == 11)
        #expect(try points("Cores", "server") == 11)
        for stage in report.stages where stage.count > 0 {
            #expect(try points("Latency by percentile", stage.key) == stage.distribution.count)
        }
        #expect(charts[0].lines.count == report.stages.count { $0.count > 0 })
    }

    @Test("joins the seconds of a long run: the mean of counts, the maximum of latencies")
    func joined() throws {
        var report = LoadReport(scenario: .online)
        report.series = (0..<86_400).map { second in
            SecondReport(
                second: second, begun: 10, completed: second == 50_000 ? 97 : 10, failed: 0, underWay: second,
                p50: 100, p99: second == 50_000 ? 9_000 : 200, serverCores: nil, ownCores: 0.5)
        }
        let greatest = report.charts.map { $0.lines.flatMap { $0.points.compactMap { $0?.y } }.max() }
        #expect(greatest == [9_000, 11, 86_395, 0.5])
        #expect(report.charts.allSatisfy { $0.lines[0].points.count == 994 })
    }

    @Test("has axes that end at round values and hold all points")
    func axes() {
        func labels(_ axis: Chart.Axis) -> [String] { axis.map(\.label) }
        #expect(labels(.linear(upTo: 263, Figure.number)) == ["0", "50", "100", "150", "200", "250", "300"])
        #expect(labels(.linear(upTo: 0.09, Figure.number)) == ["0", "0.02", "0.04", "0.06", "0.08", "0.10"])
        #expect(labels(.linear(upTo: 0, Figure.number)) == ["0", "0.20", "0.40", "0.60", "0.80", "1"])
        #expect(labels(.decades(from: 565, to: 28_000)) == ["100 µs", "1 ms", "10 ms", "100 ms"])
        #expect(labels(.decades(from: 0, to: 1)) == ["1 µs", "10 µs"])
        #expect(labels(.percentiles(count: 5_000)) == ["0", "50", "90", "99", "99.9", "99.99"])
        #expect(Chart.Axis.nines(100, count: 1_000) == 3 && Chart.Axis.nines(99.99999, count: 1_000) == 3)
    }
}
