import CallVocabulary
import Foundation
import Testing

@testable import LoadTest
@testable import reveille

@Suite("The report of a load test for programs")
struct LoadDocumentTests {
    private static let article: [String] = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = root.appending(path: "Sources/LoadTest/LoadTest.docc/LoadReports.md")
        return ((try? String(contentsOf: file, encoding: .utf8)) ?? "").components(separatedBy: "\n")
    }()

    /// The keys in the first column of the tables under a heading.
    private static func keys(_ heading: String) -> Set<String> {
        guard let head = article.firstIndex(of: heading) else { return [] }
        let rows = article[(head + 1)...].prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("| `") }
        return Set(
            rows.flatMap { row in
                row.components(separatedBy: "|")[1].components(separatedBy: "`").enumerated()
                    .filter { $0.offset % 2 == 1 }.map(\.element)
            })
    }

    private static func object(_ record: LoadRecord = .sample()) throws -> [String: Any] {
        let json = try JSONSerialization.jsonObject(with: LoadDocument(record).json())
        return try #require(json as? [String: Any])
    }

    @Test("it is as it was read before")
    func recorded() throws {
        let text = String(decoding: try LoadDocument(.sample()).json(), as: UTF8.self)
        try Recording.expect(text.split(separator: "\n").map(String.init), as: "load.json")
    }

    @Test("its keys are those that the article lists")
    func keys() throws {
        let report = try Self.object()
        #expect(Set(report.keys) == Self.keys("### The report"))
        let environment = try #require(report["environment"] as? [String: Any])
        #expect(Set(environment.keys) == Self.keys("### `environment`"))
        let figures = try #require(report["figures"] as? [String: [String: Any]])
        let figure = try #require(figures["completed"])
        #expect(Set(figure.keys) == Self.keys("### An entry of `figures`"))
        let stages = try #require(report["stages"] as? [String: [String: Any]])
        let stage = try #require(stages["invite_result"])
        #expect(Set(stage.keys) == Self.keys("### An entry of `stages`"))
        let series = try #require(report["series"] as? [[String: Any]])
        #expect(Set(series[0].keys) == Self.keys("### An entry of `series`"))
        let units = Set(figures.values.compactMap { $0["unit"] as? String })
        #expect(units.isSubset(of: Self.keys("### Units")))
        #expect(Set(Figure.Group.allCases.map(\.rawValue)) == Self.keys("### Groups"))
    }

    @Test("it has the values of the report, whatever they are")
    func values() throws {
        let record = LoadRecord.sample()
        let report = try Self.object(record)
        #expect(report["report_version"] as? Int == 2)
        #expect(report["loop"] as? String == "open")
        #expect(report["passed"] as? Bool == false)
        #expect(report["command"] as? String == record.plan.commandLine)
        #expect((report["plan"] as? [String: String])?["--rate"] == "250")
        let figures = try #require(report["figures"] as? [String: [String: Any]])
        #expect(figures.count == record.report.figures.count)
        #expect(figures["lateness_p99"]?["value"] as? Double == 2_400)
        #expect(figures["lateness_p99"]?["unit"] as? String == "us")
        #expect(report["audit"] as? String == "broken")
        #expect((report["environment"] as? [String: Any])?["file_system"] as? String == "ext4")
        // There is no number for it in JSON.
        #expect(figures["server_cpu_per_piece_by_metrics"]?["value"] == nil)
        let stages = try #require(report["stages"] as? [String: [String: Any]])
        #expect(stages["push_reported"]?["p999_us"] as? Int == 53_581)
        #expect((stages["push_reported"]?["distribution"] as? [[String: Any]])?.count == 13)
        #expect(report["failures"] as? [String: Int] == record.report.failures)
        #expect(report["violations"] as? [String] == record.report.violations)
        #expect(report["doubts"] as? [String] == record.report.doubts)
        let series = try #require(report["series"] as? [[String: Any]])
        #expect(series.map { $0["under_way"] as? Int } == record.report.series.map(\.underWay))
        #expect(series[6]["server_cores"] == nil)
        #expect(abs((series[5]["server_cores"] as? Double ?? 0) - 0.077) < 1e-9)
    }

    @Test("what was written is read as what it was")
    func roundTrip() throws {
        let document = LoadDocument(.sample(isInterrupted: true))
        let json = try document.json()
        #expect(try JSONDecoder().decode(LoadDocument.self, from: json).json() == json)
    }

    @Test("it has passed only when nothing failed and nobody ended it")
    func passed() {
        #expect(LoadDocument(.sample(failed: false)).passed)
        #expect(!LoadDocument(.sample(failed: false, isInterrupted: true)).passed)
        #expect(!LoadDocument(.sample()).passed)
    }

    @Test("the article has every stage that is timed, with its definition")
    func stages() {
        let documented = Self.article.filter { $0.hasPrefix("| `") }
        for stage in LoadStage.allCases {
            #expect(documented.contains("| `\(stage.key)` | \(stage.definition) |"), "\(stage.key)")
        }
        #expect(Self.keys("## Stages") == Set(LoadStage.allCases.map(\.key)))
        let rows = documented.compactMap { row in
            LoadStage.allCases.first { row.hasPrefix("| `\($0.key)` | \($0.definition)") }
        }
        #expect(rows == LoadStage.allCases)
    }

    @Test("the article and the manual have every figure that there can be, with its definition")
    func manual() throws {
        let documented = Self.article.filter { $0.hasPrefix("| `") }
        for figure in LoadFigure.all {
            #expect(documented.contains("| `\(figure.key)` | \(figure.definition) |"), "\(figure.key)")
        }
        #expect(Self.keys("## Figures") == Set(LoadFigure.all.map(\.key)))
        #expect(Set(LoadFigure.all.map(\.key)).count == LoadFigure.all.count)
        let program = try CommandDescription.ofProgram()
        let command = try #require(program.subcommands?.first { $0.commandName == "load" })
        let page = ManualPage(of: command, in: "reveille", appendices: LoadManual.appendices).text
        for term in LoadFigure.all.map(\.key) + LoadStage.allCases.map(\.key) {
            #expect(page.contains("\n.TP\n\\fB\(term)\\fR\n"), "\(term)")
        }
        #expect(page.contains("coordinated omission"))
    }

    @Test("each figure of the sample is one that there can be, as it is told of")
    func figures() throws {
        for figure in LoadRecord.sample().report.figures {
            let kind = try #require(LoadFigure.kind(of: figure.key), "\(figure.key)")
            #expect(figure.unit == kind.unit && figure.group == type(of: kind).group)
        }
        #expect(
            Set(AuditState.allCases.map(\.rawValue)).allSatisfy { state in
                Self.article.contains { $0.contains("`\(state)`") }
            })
    }

    @Test("a name that stands for several is known by what it stands for, and takes its place")
    func names() {
        for (key, known) in [
            ("own_thread_12_cores", "own_thread_N_cores"), ("ledger_not_required", "ledger_STATUS"),
            ("lateness_p99", "lateness_p99"), ("completed_fanout", "completed_SCENARIO"),
            ("completed_in_all", "completed_in_all"), ("fault_socket_cut", "fault_NAME"),
        ] {
            #expect(LoadFigure.kind(of: key)?.key == known, "\(key)")
        }
        for key in ["own_thread_cores", "ledger", "lateness", "server_core", "calls", "fault_"] {
            #expect(LoadFigure.kind(of: key) == nil, "\(key)")
        }
        let figure = LoadFigure.Generator.ownThreadNCores.figure(0.5, of: "3")
        #expect(figure.key == "own_thread_3_cores" && figure.definition.hasPrefix("CPU time of phone thread 3"))
    }
}
