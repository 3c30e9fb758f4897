import Foundation
import Testing

@testable import Benchmarks

@Suite struct FigureTests {
    private func figure(
        costs: [Double], references: [Double], also: [PartFigure.Quantity] = []
    ) -> PartFigure {
        PartFigure(
            name: "work", unit: .nanoseconds, cost: Spread(costs), reference: "loop",
            referenceCost: Spread(references), ratio: Spread(zip(costs, references).map { $0 / $1 }),
            also: also, operations: 1)
    }

    @Test(
        "a ratio more than a quarter from the baseline's is marked, and so is each change of the allocations",
        arguments: [
            (104.0, 2.0, "1.04x the baseline"), (125, 2, "1.25x the baseline"), (126, 2, "1.26x the baseline: MORE"),
            (75, 2, "0.75x the baseline"), (74, 2, "0.74x the baseline: less"),
            (100, 3, "1.00x the baseline; allocations 2.00 before, 3.00 now"),
        ])
    func verdict(cost: Double, allocations: Double, words: String) {
        let baseline = figure(costs: [2], references: [1], also: [PartFigure.Quantity(2, "allocations")])
        let now = figure(
            costs: [cost], references: [50], also: [PartFigure.Quantity(allocations, "allocations")])
        #expect(now.verdict(against: baseline) == words)
    }

    @Test("a slow round is slow for the reference, too: the ratio is taken round by round")
    func byRound() {
        #expect(figure(costs: [10, 1000, 22], references: [5, 500, 10]).ratio == Spread([2, 2, 2.2]))
    }

    @Test("readings of several rounds become one figure, with the medians of all that was read")
    func readings() throws {
        var readings = Readings()
        for (cost, rate) in [(4.0, 7.0), (8, 9), (6, 1)] {
            readings.note(
                "work",
                Readings.Reading(cost: cost, reference: 2, operations: 10, also: [PartFigure.Quantity(rate, "rate")]),
                against: "loop")
        }
        let report = PartReport(.codec, work: "Work", rounds: 3, readings)
        let figure = try #require(report.figures.first)
        #expect(report.figures.count == 1 && figure.operations == 30)
        #expect(figure.cost.median == 6 && figure.ratio == Spread([2, 4, 3]))
        #expect(figure.also == [PartFigure.Quantity(7, "rate")])
        #expect(report.text().contains("\nreference: loop"))
    }

    @Test("a result that was written is a baseline for the same component only")
    func baseline() throws {
        var readings = Readings()
        readings.note("work", Readings.Reading(cost: 4, reference: 2, operations: 1), against: "loop")
        let report = PartReport(.codec, work: "Work", rounds: 1, readings)
        let path = NSTemporaryDirectory() + "baseline-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: BenchmarkError.self) { try PartReport(file: path, of: .codec) }
        try ResultFile(path: path).write(report)
        let read = try PartReport(file: path, of: .codec)
        #expect(read.figures.first?.ratio == report.figures.first?.ratio)
        #expect(report.text(against: read).contains("  1.00x the baseline\n"))
        #expect(throws: BenchmarkError.self) { try PartReport(file: path, of: .core) }
    }
}
