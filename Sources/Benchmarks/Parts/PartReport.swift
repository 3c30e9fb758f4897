import CallStore
import Foundation

public struct PartReport: Codable, Sendable {
    public let part: BenchmarkPart
    public let work: String
    public let rounds: Int
    public let figures: [PartFigure]
    /// Known reasons why the figures may be unreliable.
    public let doubts: [String]

    /// - Parameter fileSystem: the file system written to; nil for none or an unknown one.
    init(
        _ part: BenchmarkPart, work: String, rounds: Int, _ readings: Readings, dataOn fileSystem: FileSystem? = nil
    ) {
        self.part = part
        self.work = work + (fileSystem.map { "; data on \($0)" } ?? "")
        self.rounds = rounds
        figures = readings.figures
        let isMemory = fileSystem?.isMemory == true
        doubts = isMemory ? ["the data is in memory, so that nothing is written to a disk"] : []
    }

    /// Reads an earlier result.
    /// - Throws: ``BenchmarkError`` when the file contains no result of that component.
    public init(file: String, of part: BenchmarkPart) throws {
        do {
            self = try JSONDecoder().decode(PartReport.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
        } catch {
            throw BenchmarkError("'\(file)' has no result: \(error.localizedDescription)")
        }
        guard self.part == part else { throw BenchmarkError("'\(file)' has a result of \(self.part), not of \(part)") }
    }

    /// The table, the references, and the doubts.
    /// - Parameter baseline: an earlier result of the same component.
    public func text(against baseline: PartReport? = nil) -> String {
        var rows = [["", "each", "reference", "ratio", "min..max", ""]]
        rows += figures.map { figure in
            [
                figure.name, "\(Decimals.text(figure.cost.median)) \(figure.unit.rawValue)",
                "\(Decimals.text(figure.referenceCost.median)) \(figure.unit.rawValue)",
                Decimals.text(figure.ratio.median),
                "\(Decimals.text(figure.ratio.min))..\(Decimals.text(figure.ratio.max))",
                baseline?.figures.first { $0.name == figure.name }.map(figure.verdict) ?? "",
            ]
        }
        var lines = ["\(work); medians of \(rounds) rounds in turn", ""] + TextTable.lines(rows) + [""]
        let named = figures.filter { !$0.also.isEmpty }
        lines += TextTable.lines(named.map { [$0.name] + $0.also.map { "\(Decimals.text($0.value)) \($0.name)" } })
        lines += named.isEmpty ? [] : [""]
        lines += Self.references(figures)
        lines += doubts.map { "in doubt: \($0)" }
        return lines.joined(separator: "\n")
    }

    private static func references(_ figures: [PartFigure]) -> [String] {
        var words: [String] = []
        for figure in figures where !words.contains(figure.reference) { words.append(figure.reference) }
        if words.count == 1 { return ["reference: \(words[0])"] }
        return words.map { word in
            "reference of \(figures.filter { $0.reference == word }.map(\.name).joined(separator: ", ")): \(word)"
        }
    }
}
