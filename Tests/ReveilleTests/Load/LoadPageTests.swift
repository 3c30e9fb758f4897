import CallVocabulary
import Foundation
import Testing

@testable import LoadTest
@testable import reveille

@Suite("The report of a load test as a page")
struct LoadPageTests {
    private static func page(_ record: LoadRecord = .sample()) throws -> PageElement {
        try PageElement.root(of: LoadPage(record).html)
    }

    @Test("it is as it was read before")
    func recorded() throws {
        try Recording.expect(
            LoadPage(.sample()).html.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(
                String.init),
            as: "load.html")
    }

    @Test("it is well-formed, and nothing in it is loaded from elsewhere or run")
    func alone() throws {
        let page = try Self.page()
        let names = Set(page.all.map(\.name))
        #expect(
            names.isDisjoint(with: [
                "script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use",
            ]))
        for element in page.all {
            let attributes = Set(element.attributes.keys)
            #expect(attributes.isDisjoint(with: ["src", "href", "srcset", "data", "action", "xlink:href", "style"]))
            #expect(!attributes.contains { $0.hasPrefix("on") })
        }
        let style = try #require(page.first("style")?.text)
        #expect(!style.contains("url(") && !style.contains("@import"))
    }

    @Test("what others wrote is text and nothing else")
    func escaped() throws {
        let page = try Self.page()
        let text = page.text
        #expect(text.contains("2 × call.invite: <script>alert('x')</script> & \"worse\""))
        #expect(text.contains(#"the server said: \u{1B}[31mred\u{202E}"#))
        #expect(text.contains("A <processor> & more"))
        #expect(
            Markup.escaped("a<b>&\"'\u{0}\u{FFFE}\u{2028}\n") == "a&lt;b&gt;&amp;&quot;&#39;\\u{0}\\u{FFFE}\\u{2028}\n")
    }

    @Test("every figure, stage, failure, law and doubt is in it, with its words")
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
        for violation in record.report.violations { #expect(items.contains("broken law: \(violation)")) }
        #expect(items.contains("14 × \(Recorder.nobodyFree)"))
        #expect(items.contains("sent 2990 = accepted 2990 + rejected 0 + unknown 0 + in flight 0"))
        #expect(page.first("pre")?.text == record.plan.commandLine)
        #expect(page.text.contains(record.verdict) && page.text.contains(record.paceNote))
    }

    @Test("a run of which there is nothing to say is a page too")
    func empty() throws {
        let sample = LoadRecord.sample()
        let record = LoadRecord(
            plan: sample.plan, report: LoadReport(scenario: .online), environment: sample.environment,
            startedAt: sample.startedAt, isInterrupted: true)
        let page = try Self.page(record)
        #expect(page.text.contains("It was interrupted"))
        #expect(page.first("svg") == nil)
    }

    /// The places of a plot's points, as they are drawn.
    private static func places(_ plot: PageElement, style: String) -> [[(x: Double, y: Double)]] {
        plot.all.filter { $0.name == "polyline" && $0.attributes["class"] == "line \(style)" }.map { line in
            (line.attributes["points"] ?? "").split(separator: " ").map { point in
                let numbers = point.split(separator: ",").compactMap { Double($0) }
                return (numbers[0], numbers[1])
            }
        }
    }

    @Test("the plots over time have a point for each second, at its place, and a gap where there is nothing")
    func points() throws {
        let record = LoadRecord.sample()
        let plots = ReportPlots(record.report)
        let series = record.report.series
        func drawn(_ plot: Plot?, _ style: String) throws -> [[(x: Double, y: Double)]] {
            Self.places(try PageElement.root(of: #require(plot).svg), style: style)
        }
        // Between the margins, 0 to 11 s from left to right, and 0 to 300 a second from below.
        let completed = try drawn(plots.rates, "c0")
        #expect(completed.count == 1)
        for (second, place) in zip(series, completed[0]) {
            #expect(abs(place.x - (66 + Double(second.second) / 11 * 478)) <= 0.05)
            #expect(abs(place.y - (266 - Double(second.completed) / 300 * 254)) <= 0.05)
        }
        #expect(completed[0].count == series.count)
        #expect(try drawn(plots.rates, "c2").map(\.count) == [12])
        #expect(try drawn(plots.rates, "bad").map(\.count) == [12])
        #expect(try drawn(plots.underWay, "c4").map(\.count) == [12])
        #expect(try drawn(plots.times, "c1").map(\.count) == [6, 5])
        #expect(try drawn(plots.cores, "c0").map(\.count) == [6, 5])
        #expect(try drawn(plots.cores, "c1").map(\.count) == [12])
        let marks = try PageElement.root(of: #require(plots.underWay).svg).all.filter { $0.name == "circle" }
        #expect(marks.map(\.text) == series.map { "\($0.second) s, under way: \($0.underWay)" })
    }

    @Test("the plot by percentile has all points of each stage that was timed, each nine as wide as the last")
    func percentiles() throws {
        let record = LoadRecord.sample()
        let plot = try PageElement.root(of: #require(ReportPlots(record.report).percentiles).svg)
        for (index, stage) in record.report.stages.enumerated() {
            let lines = Self.places(plot, style: ReportPlots.style(ofStage: index))
            #expect(lines.map(\.count) == (stage.count > 0 ? [stage.distribution.count] : []))
            guard let places = lines.first else { continue }
            // Four nines hold 2,986 values.
            for (percentile, at) in [(0.0, 0.0), (50, 0.30103), (90, 1), (99, 2), (99.9, 3), (100, 3.4751)] {
                let point = try #require(stage.distribution.firstIndex { $0.percentile == percentile })
                #expect(abs(places[point].x - (66 + at / 4 * 478)) <= 0.06)
            }
            #expect(zip(places, places.dropFirst()).allSatisfy { $0.x < $1.x && $0.y > $1.y })
        }
    }

    @Test("a day's seconds are drawn several to a point, and none is lost")
    func condensed() throws {
        var report = LoadReport(scenario: .online)
        report.series = (0..<86_400).map { second in
            SecondReport(
                second: second, begun: 10, completed: second == 50_000 ? 97 : 10, failed: 0, underWay: second,
                p50: 100, p99: second == 50_000 ? 9_000 : 200, serverCores: nil, ownCores: 0.5)
        }
        let plots = ReportPlots(report)
        #expect(plots.secondsPerPoint == 87)
        let times = try #require(plots.times).lines
        #expect(times.map(\.points.count) == [994, 994])
        #expect(times[1].points.compactMap { $0?.y }.max() == 9_000)
        #expect(try #require(plots.rates).lines[1].points.compactMap { $0?.y }.max() == 11)
        #expect(try #require(plots.underWay).lines[0].points.last??.y == 86_399)
        #expect(try #require(plots.cores).lines.map(\.name) == ["load generator"])
        #expect(try #require(plots.underWay).svg.contains("circle") == false)
    }

    @Test("axes end at round numbers and hold all values")
    func axes() {
        #expect(PlotAxis.count(upTo: 263).ticks.map(\.label) == ["0", "100", "200", "300"])
        #expect(
            PlotAxis.count(upTo: 0.09).ticks.map(\.label) == ["0", "0.05", "0.10"])
        #expect(PlotAxis.count(upTo: 1).to == 1)
        #expect(PlotAxis.time(upTo: 0).ticks.map(\.label) == ["0", "1 s"])
        #expect(PlotAxis.time(upTo: 29).ticks.map(\.label) == ["0", "5 s", "10 s", "15 s", "20 s", "25 s"])
        #expect(
            PlotAxis.time(upTo: 1800).ticks.map(\.label) == [
                "0", "5 min", "10 min", "15 min", "20 min", "25 min", "30 min",
            ])
        #expect(
            PlotAxis.durations(from: 565, to: 28_000).ticks.map(\.label) == [
                "500 µs", "1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms",
            ])
        #expect(
            PlotAxis.durations(from: 0, to: 90_000_000).ticks.map(\.label) == [
                "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s",
            ])
        #expect(PlotAxis.durations(from: 7, to: 7).ticks.map(\.label) == ["5 µs", "10 µs"])
        #expect(PlotAxis.percentiles(count: 5_000).ticks.map(\.label) == ["0", "50", "90", "99", "99.9", "99.99"])
        #expect(PlotAxis.nineness(100, count: 1_000) == 3)
        #expect(PlotAxis.nineness(99.99999, count: 1_000) == 3)
    }
}
