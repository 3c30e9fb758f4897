import AdminProtocol
import CallVocabulary
import TerminalScreen

/// The layout of the figures: the most important are always shown, the others as room permits.
enum TopLayout {
    /// A group of lines, of which the first `least` are shown in any case.
    private struct Section {
        var lines: [StyledLine]
        var least: Int
    }

    private static let mostProblemLines = 6

    /// - Parameter isUp: whether the server answers. What was wrong with one that does not says nothing about it now.
    static func draw(_ figures: TopFigures, isUp: Bool, rows: Range<Int>, in buffer: inout ScreenBuffer) {
        guard let stats = figures.stats else { return }
        let (width, isUnicode) = (buffer.width, buffer.isUnicode)
        var top = TopText.calls(stats, width: width)
        top += TopText.rates(figures, width: width, isUnicode: isUnicode)
        if isUp { top += TopText.problems(stats, width: width, most: mostProblemLines) }
        let rest = [
            Section(lines: TopText.pushes(stats), least: 2),
            Section(lines: TopText.pools(stats), least: min(3, stats.pushPools.count + 1)),
            Section(lines: TopText.store(stats), least: 1),
            Section(lines: TopText.queues(stats, width: width), least: 1),
            Section(lines: TopText.limits(stats, width: width), least: 1),
            Section(lines: TopText.process(stats, figures.cpu), least: 2),
        ]
        let middle = TopText.ended(stats, width: leftWidth(width), isUnicode: isUnicode)
        let stages = TopText.stages(stats, isUnicode: isUnicode)
        var row = rows.lowerBound
        func draw(_ lines: some Sequence<StyledLine>, column: Int = 0, from start: Int, limit: Int = .max) -> Int {
            var at = start
            for line in lines where at < rows.upperBound {
                line.draw(into: &buffer, row: at, column: column, limit: limit)
                at += 1
            }
            return at
        }
        row = draw(top, from: row)
        let sideBySide = width >= 76
        let middleHeight = sideBySide ? max(min(middle.count, 8), stages.count) : min(middle.count, 4) + stages.count
        var room = rows.upperBound - row - middleHeight
        // First what there has to be, then more of each, from the top.
        var shares = rest.map { min($0.least, $0.lines.count) }
        room -= shares.reduce(0, +)
        for index in rest.indices where room > 0 {
            let more = min(room, rest[index].lines.count - shares[index])
            shares[index] += more
            room -= more
        }
        if sideBySide {
            let start = row
            row = draw(middle.prefix(8 + max(0, room)), from: start, limit: leftWidth(width) - 2)
            row = max(row, draw(stages, column: leftWidth(width), from: start))
        } else {
            row = draw(middle.prefix(4), from: row)
            row = draw(stages, from: row)
        }
        for (section, share) in zip(rest, shares) { row = draw(section.lines.prefix(share), from: row) }
        let height = min(tallestGraph, (rows.upperBound - row) / 3)
        guard height >= lowestGraph else { return }
        for graph in TopText.graphs(figures, width: width, height: height, isUnicode: isUnicode) {
            row = draw(graph, from: row)
        }
    }

    /// With the line of its title.
    private static let lowestGraph = 4
    private static let tallestGraph = 9

    private static func leftWidth(_ width: Int) -> Int { min(60, max(32, width - 46)) }
}
