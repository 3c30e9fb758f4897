import CallVocabulary

/// A table that fits the terminal. Columns are as wide as their widest cell; in a narrow terminal the least important
/// columns are shortened, then dropped. Without a terminal no text is shortened: a cell that is longer than ``widest`` makes
/// its own line longer, and not all the others.
struct Table {
    struct Column: ExpressibleByStringLiteral {
        var title: String
        /// Right-aligned, for numbers.
        var isRight = false
        /// Ids: a narrow terminal shows unique prefixes, which every command accepts.
        var isID = false
        /// The order of dropping; see ``init(_:sacrifice:least:isRight:isID:)``.
        var sacrifice = 0
        /// The minimum width.
        var least: Int

        /// - Parameters:
        ///   - sacrifice: the order of dropping in a narrow terminal. 0: never. 1: last. From 2 on: before more important
        ///     columns are shortened, the greatest first.
        ///   - least: the minimum width. Numbers are never shortened.
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

        /// - Parameter text: from any source; it is escaped.
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

    /// A table with one row for each item.
    init<Item>(_ columns: [Column], of items: [Item], _ row: (Item) -> [Cell]) {
        self.columns = columns
        rows = items.map(row)
    }

    init<Item>(_ titles: [String], of items: [Item], _ row: (Item) -> [String]) {
        self.init(titles.map { Column($0) }, of: items) { row($0).map { Cell($0) } }
    }

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
        let isCut = limit != nil
        let head = line(columns.map { Cell($0.title, .bold) }, widths, isCut: isCut)
        return [head] + table.rows.map { line($0, widths, isCut: isCut) }
    }

    private mutating func shortenIDs() {
        for index in columns.indices where columns[index].isID {
            let ids = ShortIDs(rows.compactMap { $0.indices.contains(index) ? $0[index].text : nil })
            for row in rows.indices where rows[row].indices.contains(index) {
                rows[row][index] = Cell(ids[rows[row][index].text], rows[row][index].style)
            }
        }
    }

    private func line(_ cells: [Cell], _ widths: [Int?], isCut: Bool) -> String {
        var (line, gap) = ("", 0)
        for (index, cell) in cells.enumerated() {
            guard index < widths.count, let width = widths[index] else { continue }
            let column = columns[index]
            let text = isCut ? cell.text.shortened(to: width) : cell.text
            // Nothing is written behind the last text of a line.
            guard !text.isEmpty else {
                gap += width + Self.gap
                continue
            }
            let space = max(0, width - text.columns)
            line +=
                String(repeating: " ", count: gap + (column.isRight ? space : 0)) + Terminal.styled(text, cell.style)
            gap = Self.gap + (column.isRight ? 0 : space)
        }
        return line
    }

    // MARK: Room

    private static let gap = 2
    /// The widest column without a terminal: the longest handle.
    static let widest = Handle.longest

    /// The widths of the widest cells.
    private var natural: [Int] {
        var widths = columns.map(\.title.columns)
        for row in rows {
            for (index, cell) in row.enumerated() where index < widths.count {
                widths[index] = max(widths[index], cell.text.columns)
            }
        }
        return widths
    }

    /// The widths of the columns; nil for dropped columns.
    private func fitted(to limit: Int?) -> [Int?] {
        let natural = natural
        guard let limit else { return natural.map { min($0, Self.widest) } }
        var widths: [Int?] = natural
        guard Self.total(widths) > limit else { return widths }
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
