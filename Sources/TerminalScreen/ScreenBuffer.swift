/// One cell of the screen.
public struct Cell: Equatable, Sendable {
    public var character: Character
    public var style: Style

    public static let blank = Cell(character: " ", style: .plain)

    /// Whether the cell is the right half of the wide character to its left.
    public var isContinuation: Bool { character == Self.continuation }
    static let continuation: Character = "\0"
}

/// The content of the screen. Rows and columns count from 0; writes outside are ignored.
public struct ScreenBuffer: Equatable, Sendable {
    public let width: Int
    public let height: Int
    public let isUnicode: Bool
    public private(set) var cells: [Cell]

    public init(width: Int, height: Int, isUnicode: Bool = true) {
        self.width = max(0, width)
        self.height = max(0, height)
        self.isUnicode = isUnicode
        cells = Array(repeating: .blank, count: self.width * self.height)
    }

    public subscript(row: Int, column: Int) -> Cell { cells[row * width + column] }

    /// Writes `text` within `limit` cells; a longer text is truncated with a mark.
    /// - Returns: the column after the text.
    @discardableResult
    public mutating func put(
        _ text: String, row: Int, column: Int, limit: Int = .max, style: Style = .plain
    ) -> Int {
        guard row >= 0, row < height, column >= 0 else { return column }
        let room = min(limit, width - column)
        guard room > 0 else { return column }
        let glyphs = VisibleText.glyphs(of: text, isUnicode: isUnicode)
        let isCut = glyphs.reduce(0) { $0 + $1.width } > room
        var (at, end) = (column, column + room - (isCut ? 1 : 0))
        for glyph in glyphs {
            guard at + glyph.width <= end else { break }
            set(glyph, row: row, column: at, style)
            at += glyph.width
        }
        if isCut {
            // A truncated wide character may leave a gap before the mark.
            while at < end { (at, end) = (put(blankAt: at, row, style), end) }
            set(Glyph(character: isUnicode ? "…" : "~", width: 1), row: row, column: at, style)
            at += 1
        }
        return at
    }

    /// Writes `text` right-aligned, ending before the column.
    public mutating func put(_ text: String, row: Int, endingAt column: Int, limit: Int = .max, style: Style = .plain) {
        let width = min(VisibleText.width(of: text, isUnicode: isUnicode), limit)
        put(text, row: row, column: max(0, column - width), limit: limit, style: style)
    }

    public mutating func paint(row: Int, style: Style) {
        guard row >= 0, row < height else { return }
        for index in row * width..<(row + 1) * width { cells[index].style = style }
    }

    public mutating func dim(rows: Range<Int>) {
        let rows = rows.clamped(to: 0..<height)
        for index in rows.lowerBound * width..<rows.upperBound * width {
            cells[index].style = cells[index].style.dimmed
        }
    }

    /// The text of a row, without trailing spaces.
    public func text(row: Int) -> String {
        var text = ""
        for cell in cells[row * width..<(row + 1) * width] where !cell.isContinuation { text.append(cell.character) }
        while text.last == " " { text.removeLast() }
        return text
    }

    /// The text of all rows, without trailing empty ones.
    public var lines: [String] {
        var lines = (0..<height).map { text(row: $0) }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    private mutating func put(blankAt column: Int, _ row: Int, _ style: Style) -> Int {
        set(Glyph(character: " ", width: 1), row: row, column: column, style)
        return column + 1
    }

    private mutating func set(_ glyph: Glyph, row: Int, column: Int, _ style: Style) {
        for half in column..<column + glyph.width { clear(row, half) }
        let index = row * width + column
        cells[index] = Cell(character: glyph.character, style: style)
        if glyph.width == 2 { cells[index + 1] = Cell(character: Cell.continuation, style: style) }
    }

    /// Clears a cell, with the other half of a wide character.
    private mutating func clear(_ row: Int, _ column: Int) {
        let index = row * width + column
        if cells[index].isContinuation { cells[index - 1].character = " " }
        if column + 1 < width, cells[index + 1].isContinuation { cells[index + 1].character = " " }
        cells[index].character = " "
    }
}
