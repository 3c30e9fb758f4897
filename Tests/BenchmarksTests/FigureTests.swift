import Foundation
import Testing

@testable import Benchmarks

@Suite struct FigureTests {
    private func figure(
        costs: [Double], references: [Double], recorded: Double?, goal: PartFigure.Goal? = nil,
        also: [PartFigure.Quantity] = []
    ) -> PartFigure {
        PartFigure(
            name: "work", unit: .nanoseconds, cost: Spread(costs), reference: "loop",
            referenceCost: Spread(references), ratio: Spread(zip(costs, references).map { $0 / $1 }),
            recordedRatio: recorded, also: also, goal: goal, operations: 1)
    }

    @Test(
        "a ratio within a quarter of the recorded one is told as it is, and one beyond is marked",
        arguments: [
            (104.0, "1.04x the recorded ratio"), (125, "1.25x the recorded ratio"),
            (126, "1.26x the recorded ratio: MORE"), (75, "0.75x the recorded ratio"),
            (74, "0.74x the recorded ratio: less"),
        ])
    func verdict(cost: Double, words: String) {
        #expect(figure(costs: [cost], references: [50], recorded: 2).verdict == words)
        #expect(figure(costs: [cost], references: [50], recorded: nil).verdict == "no ratio recorded")
    }

    @Test("a slow round is slow for the reference, too: the ratio is taken round by round")
    func byRound() {
        let figure = figure(costs: [10, 1000, 22], references: [5, 500, 10], recorded: 2)
        #expect(figure.ratio == Spread([2, 2, 2.2]))
        #expect(figure.change == 1)
    }

    @Test("a goal is reached at its limit, and is one of the ratio or of a quantity")
    func goals() {
        let ratio = figure(costs: [3], references: [2], recorded: nil, goal: .atMost(1.5))
        #expect(ratio.reachesGoal == true)
        let over = figure(costs: [3.1], references: [2], recorded: nil, goal: .atMost(1.5))
        #expect(over.reachesGoal == false)
        #expect(over.goalText == "NOT reached: work: 1.55 times the reference, at most 1.50 is wanted")
        let rate = PartFigure.Quantity(0.9, "GB/s")
        let slow = figure(costs: [1], references: [1], recorded: nil, goal: .atLeast(1, "GB/s"), also: [rate])
        #expect(slow.goalText == "NOT reached: work: 0.90 GB/s, at least 1.00 is wanted")
        #expect(figure(costs: [1], references: [1], recorded: nil, goal: .atLeast(1, "GB/s")).reachesGoal == nil)
        #expect(figure(costs: [1], references: [1], recorded: nil).goalText == nil)
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
        let read = try JSONDecoder().decode(PartReport.self, from: Data(try report.json.utf8))
        #expect(read.figures.first?.ratio == figure.ratio && read.figures.first?.also == figure.also)
        #expect(report.text.contains("\nreference: loop\n"))
    }
}
