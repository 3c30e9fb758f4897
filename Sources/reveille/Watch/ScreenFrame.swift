import AdminProtocol
import TerminalScreen

/// The lines at the top and the bottom that the full-screen commands have in common.
enum ScreenFrame {
    /// The server, a figure, and the time.
    /// - Parameter problems: the worst first; they take the place of the server's address.
    /// - Returns: the worst problem, if the line has no room for all of its words.
    @discardableResult
    static func drawTitle(
        _ link: LinkState, _ figure: String?, problems: [ServerProblem] = [], isPaused: Bool,
        in buffer: inout ScreenBuffer, at time: ScreenTime
    ) -> ServerProblem? {
        var title = StyledLine("reveille", .bold)
        if let server = link.server {
            if problems.isEmpty {
                title.add(" \(server.version) on \(server.node), \(server.address)")
            } else {
                title.add(" on \(server.node)")
            }
            if link.isUp, server.isDraining { title.add("  draining", Style(.yellow, bold: true)) }
        }
        if let figure, link.isUp { title.add("  \(figure)", .bold) }
        if let problem = problems.first {
            let count = problems.count > 1 ? "\(problems.count) problems: " : ""
            title.add("  \(count)\(problem.words)", style(of: problem))
        }
        let clock = WallClock.text(time.wallMilliseconds)
        let mark = isPaused ? " PAUSED " : ""
        let limit = max(0, buffer.width - clock.count - mark.count - 2)
        title.draw(into: &buffer, row: 0, limit: limit)
        buffer.put(clock, row: 0, endingAt: buffer.width, style: link.isUp ? .plain : .dim)
        if isPaused { buffer.put(mark, row: 0, endingAt: buffer.width - clock.count - 1, style: .reversed) }
        return title.pieces.reduce(0) { $0 + $1.text.columns } > limit ? problems.first : nil
    }

    /// Draws all words of a problem: the cause often stands at the end.
    /// - Returns: the row below them. They take at most half of the rows down to the prompt.
    static func drawProblem(_ problem: ServerProblem, row: Int, in buffer: inout ScreenBuffer) -> Int {
        let lines = problem.words.shown.wrapped(to: buffer.width).prefix(max(0, (buffer.height - 2 - row) / 2))
        for (index, line) in lines.enumerated() {
            buffer.put(line, row: row + index, column: 0, limit: buffer.width, style: style(of: problem))
        }
        return row + lines.count
    }

    static func style(of problem: ServerProblem) -> Style {
        Style(problem.severity == .critical ? .red : .yellow, bold: true)
    }

    /// The connection error, across a whole line.
    static func drawTrouble(_ words: String, row: Int, in buffer: inout ScreenBuffer) {
        buffer.put(
            words + String(repeating: " ", count: buffer.width), row: row, column: 0, limit: buffer.width - 1,
            style: Style(.red, bold: true, reversed: true))
        // The mark that the line is cut says nothing here.
        buffer.put(" ", row: row, column: buffer.width - 2, style: Style(.red, bold: true, reversed: true))
    }

    /// The keys, as many as there is room for, the most wanted first.
    static func drawKeys(_ keys: [(key: String, does: String)], in buffer: inout ScreenBuffer) {
        let row = buffer.height - 1
        var column = 0
        for (key, does) in keys {
            let width = VisibleText.width(of: key, isUnicode: buffer.isUnicode) + does.count + 1
            guard column + width <= buffer.width else { break }
            column = buffer.put(key, row: row, column: column, style: .reversed)
            column = buffer.put(" " + does, row: row, column: column, style: .dim) + 2
        }
    }
}
