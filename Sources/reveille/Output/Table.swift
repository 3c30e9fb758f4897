import CallVocabulary

/// Columns of text that fit a terminal: as wide as their widest cell, and where that is too wide, the columns that
/// matter least give way.
struct Table {
    struct Column: ExpressibleByStringLiteral {
        var title: String
        /// Numbers stand right.
        var isRight = false
        /// Ids: where room is short they are cut to what tells them apart, which every command takes.
        var isID = false
        /// How soon it goes; see ``init(_:sacrifice:least:isRight:isID:)``.
        var sacrifice = 0
        /// How narrow it may become.
        var least: Int

        /// - Parameters:
        ///   - sacrifice: how soon it goes where room is short. 0: never. 1: when nothing else helps. From 2 on, before
        ///     one that matters more is shortened; the greatest first.
        ///   - least: how narrow it may become; numbers are whole or not there.
        init(_ title: String, sacrifice: Int = 0, least: Int? = nil, isRight: Bool = false, isID: Bool = false) {
            self.title = title
            self.isRight = isRight
            self.isID = isID
            self.sacrifice = sacrifice
            self.least = max(least ?? 8, title.columns)
        }

        init(stringLiteral title: String) { self.init(title) }
    }

    struct Cell: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
        let text: String
        var style: TextStyle

        /// - Parameter text: anybody's: it is made harmless.
        init(_ text: String, _ style: TextStyle = .plain) {
            self.text = text.shown
            self.style = style
        }

        init(stringLiteral text: String) { self.init(text) }
    }

    private let columns: [Column]
    private var rows: [[Cell]] = []

    init(_ columns: [Column]) { self.columns = columns }

    init(_ titles: [String]) { self.init(titles.map { Column($0) }) }

    mutating func add(_ row: [Cell]) { rows.append(row) }

    mutating func add(_ row: [String]) { add(row.map { Cell($0) }) }

    var isEmpty: Bool { rows.isEmpty }

    /// The lines, without trailing space, as the terminal has room for them.
    var lines: [String] { lines(width: Console.current.width) }

    /// - Parameter width: in columns; nil for as many as it takes.
    func lines(width limit: Int?) -> [String] {
        var table = self
        if let limit, Self.total(table.natural) > limit { table.shortenIDs() }
        let widths = table.fitted(to: limit)
        let head = line(columns.map { Cell($0.title, .bold) }, widths)
        return [head] + table.rows.map { line($0, widths) }
    }

    private mutating func shortenIDs() {
        for index in columns.indices where columns[index].isID {
            let ids = ShortIDs(rows.compactMap { $0.indices.contains(index) ? $0[index].text : nil })
            for row in rows.indices where rows[row].indices.contains(index) {
                rows[row][index] = Cell(ids[rows[row][index].text], rows[row][index].style)
            }
        }
    }

    private func line(_ cells: [Cell], _ widths: [Int?]) -> String {
        var (line, gap) = ("", 0)
        for (index, cell) in cells.enumerated() {
            guard index < widths.count, let width = widths[index] else { continue }
            let column = columns[index]
            let text = cell.text.shortened(to: width)
            // Nothing is written behind the last text of a line.
            guard !text.isEmpty else {
                gap += width + Self.gap
                continue
            }
            let space = width - text.columns
            line +=
                String(repeating: " ", count: gap + (column.isRight ? space : 0)) + Terminal.styled(text, cell.style)
            gap = Self.gap + (column.isRight ? 0 : space)
        }
        return line
    }

    // MARK: Room

    private static let gap = 2

    /// As wide as their widest cell.
    private var natural: [Int] {
        var widths = columns.map(\.title.columns)
        for row in rows {
            for (index, cell) in row.enumerated() where index < widths.count {
                widths[index] = max(widths[index], cell.text.columns)
            }
        }
        return widths
    }

    /// The widths of the columns; nil for those that are left out.
    private func fitted(to limit: Int?) -> [Int?] {
        let natural = natural
        var widths: [Int?] = natural
        guard let limit, Self.total(widths) > limit else { return widths }
        let leasts = columns.indices.map { index in
            let isWhole = columns[index].isID || columns[index].isRight
            return isWhole ? widths[index] ?? 0 : min(natural[index], columns[index].least)
        }
        func shorten(_ index: Int) {
            guard let width = widths[index] else { return }
            widths[index] = max(leasts[index], width - max(0, Self.total(widths) - limit))
        }
        // What goes first; of equal ones the last.
        let order = columns.indices.sorted { (columns[$0].sacrifice, $0) > (columns[$1].sacrifice, $1) }
        for index in order where columns[index].sacrifice > 1 && Self.total(widths) > limit {
            shorten(index)
            if Self.total(widths) > limit { widths[index] = nil }
        }
        for index in order where columns[index].sacrifice == 1 {
            let narrowest = widths.indices.map { widths[$0] == nil ? nil : leasts[$0] }
            if Self.total(narrowest) > limit { widths[index] = nil }
        }
        for index in order { shorten(index) }
        return widths
    }

    private static func total(_ widths: [Int?]) -> Int {
        let shown = widths.compactMap(\.self)
        return shown.reduce(0, +) + gap * max(0, shown.count - 1)
    }
}
