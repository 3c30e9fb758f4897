import TerminalScreen

/// One line of the screen, in pieces that look different.
struct StyledLine {
    private(set) var pieces: [(text: String, style: Style)] = []

    init() {}

    init(_ text: String, _ style: Style = .plain) { pieces = [(text, style)] }

    mutating func add(_ text: String, _ style: Style = .plain) { pieces.append((text, style)) }

    /// Adds `text` to the right of a column of `width` cells, which it may burst.
    mutating func add(_ text: String, right width: Int, _ style: Style = .plain) {
        add(String(repeating: " ", count: max(0, width - text.count)) + text, style)
    }

    /// Adds `text` and fills up to `width` cells.
    mutating func add(_ text: String, left width: Int, _ style: Style = .plain) {
        add(text, style)
        add(String(repeating: " ", count: max(0, width - text.count)))
    }

    func draw(into buffer: inout ScreenBuffer, row: Int, column: Int = 0, limit: Int = .max) {
        let edge = limit == .max ? buffer.width : min(buffer.width, column + limit)
        var at = column
        for piece in pieces where at < edge {
            at = buffer.put(piece.text, row: row, column: at, limit: edge - at, style: piece.style)
        }
    }
}
