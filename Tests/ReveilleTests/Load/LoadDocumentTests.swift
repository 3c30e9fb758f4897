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
        #expect(report["report_version"] as? Int == 1)
        #expect(report["loop"] as? String == "open")
        #expect(report["passed"] as? Bool == false)
        #expect(report["command"] as? String == record.plan.commandLine)
        #expect((report["plan"] as? [String: String])?["--rate"] == "250")
        let figures = try #require(report["figures"] as? [String: [String: Any]])
        #expect(figures.count == record.report.figures.count)
        #expect(figures["late_p99"]?["value"] as? Double == 2.4)
        #expect(figures["late_p99"]?["unit"] as? String == "ms")
        // There is no number for it in JSON.
        #expect(figures["idle_per_call"]?["value"] == nil)
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
        #expect(try JSONDecoder().decode(LoadDocument.self, from: document.json()) == document)
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
    }

    @Test("the manual has every stage and every figure, and the article the same words")
    func manual() throws {
        let documented = Self.article.filter { $0.hasPrefix("| `") }
        for (term, meaning) in LoadFigureTerms.all {
            let keys = term.split(separator: ",").map { "`\($0.trimmingCharacters(in: .whitespaces))`" }
            #expect(documented.contains("| \(keys.joined(separator: ", ")) | \(meaning) |"), "\(term)")
        }
        #expect(Self.keys("## Figures") == Set(LoadFigureTerms.all.flatMap { $0.term.components(separatedBy: ", ") }))
        let program = try CommandDescription.ofProgram()
        let command = try #require(program.subcommands?.first { $0.commandName == "load" })
        let page = ManualPage(of: command, in: "reveille", appendices: LoadManual.appendices).text
        for term in LoadFigureTerms.all.map(\.term) + LoadStage.allCases.map(\.key) {
            #expect(page.contains("\n.TP\n\\fB\(term)\\fR\n"), "\(term)")
        }
        #expect(page.contains("coordinated omission"))
    }

    @Test("a name that stands for several is known by what it stands for")
    func terms() {
        for key in [
            "own_thread_12_cores", "ledger_not_required", "lateness_p99", "completed_fanout", "fault_socket_cut",
        ] {
            #expect(LoadFigureTerms.contain(key), "\(key)")
        }
        for key in ["own_thread_cores", "ledger", "lateness", "server_core", "calls"] {
            #expect(!LoadFigureTerms.contain(key), "\(key)")
        }
    }
}
