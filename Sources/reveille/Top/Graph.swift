import TerminalScreen

/// Numbers over time as bars of several rows, with the highest value beside them.
enum Graph {
    private static let unicode: [Character] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    private static let ascii: [Character] = [" ", ".", ":", "-", "=", "+", "*", "%", "#"]
    /// Columns for the scale.
    private static let scale = 9

    /// - Parameters:
    ///   - values: oldest first; nil where there was none.
    ///   - text: a value with its unit.
    /// - Returns: so many lines, the title with the newest value first.
    static func lines(
        _ title: String, _ values: [Double?], width: Int, height: Int, style: Style, isUnicode: Bool,
        text: (Double) -> String
    ) -> [StyledLine] {
        let rows = height - 1
        guard rows > 0, width > scale else { return [] }
        var head = StyledLine(title, Style(.cyan, bold: true))
        let newest = values.last ?? nil
        head.add("  now \(newest.map(text) ?? "-")", .dim)
        let shown = values.suffix(width - scale)
        let highest = shown.compactMap(\.self).max() ?? 0
        let steps = isUnicode ? unicode : ascii
        return [head]
            + (0..<rows).map { row in
                var line = StyledLine()
                let label = row == 0 && highest > 0 ? text(highest) : row == rows - 1 ? "0" : ""
                line.add(label, right: scale - 1, .dim)
                let bars = shown.map { value -> Character in
                    guard let value, value > 0, highest > 0 else {
                        return row == rows - 1 && value != nil ? steps[1] : " "
                    }
                    let eighths = max(1, Int(value / highest * Double(rows * 8) + 0.5))
                    return steps[min(8, max(0, eighths - (rows - 1 - row) * 8))]
                }
                line.add(" " + String(bars), style)
                return line
            }
    }
}
