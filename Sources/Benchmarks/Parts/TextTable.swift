/// Rows of text in aligned columns.
enum TextTable {
    /// The first column is left-aligned, the last of the longest row is not padded, the others are right-aligned.
    static func lines(_ rows: [[String]]) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let gap = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + gap : column == columns - 1 ? cell : gap + cell
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
