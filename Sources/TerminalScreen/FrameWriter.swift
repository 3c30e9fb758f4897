/// Encodes the difference between two frames as terminal output.
public struct FrameWriter: Sendable {
    /// The longest unchanged gap, in cells, that is rewritten: a cursor movement takes as many bytes.
    private static let shortGap = 4

    private let hasColour: Bool
    private var bytes: [UInt8] = []
    /// The terminal's current style; nil when unknown.
    private var style: Style?

    /// - Parameters:
    ///   - old: the frame on the terminal. nil, or a frame of another size, writes all of `new`.
    public static func bytes(from old: ScreenBuffer?, to new: ScreenBuffer, hasColour: Bool) -> [UInt8] {
        var writer = FrameWriter(hasColour: hasColour)
        if let old, old.width == new.width, old.height == new.height {
            writer.write(from: old, to: new)
        } else {
            writer.use(.plain)
            writer.escape("[2J")
            writer.write(from: ScreenBuffer(width: new.width, height: new.height), to: new)
        }
        // The next frame, or another program, starts from the plain style.
        if writer.style != nil { writer.use(.plain) }
        return writer.bytes
    }

    private init(hasColour: Bool) { self.hasColour = hasColour }

    private mutating func write(from old: ScreenBuffer, to new: ScreenBuffer) {
        for row in 0..<new.height {
            let base = row * new.width
            // The rest of the row is empty and is cleared with one sequence.
            var end = new.width
            while end > 0, new.cells[base + end - 1] == .blank { end -= 1 }
            var column = 0
            while let start = (column..<new.width).first(where: { old.cells[base + $0] != new.cells[base + $0] }) {
                guard start < end else {
                    move(row, start)
                    use(.plain)
                    escape("[K")
                    break
                }
                column = Self.endOfRun(old, new, base, start, end)
                write(new.cells[base + start..<base + column], row, start)
            }
        }
    }

    private static func endOfRun(
        _ old: ScreenBuffer, _ new: ScreenBuffer, _ base: Int, _ start: Int, _ limit: Int
    ) -> Int {
        var (end, column) = (start + 1, start + 1)
        while column < limit, column - end < shortGap {
            if old.cells[base + column] != new.cells[base + column] || new.cells[base + column].isContinuation {
                end = column + 1
            }
            column += 1
        }
        return end
    }

    private mutating func write(_ cells: ArraySlice<Cell>, _ row: Int, _ start: Int) {
        var isPlaced = false
        for (offset, cell) in cells.enumerated() where !cell.isContinuation {
            if !isPlaced { move(row, start + offset) }
            use(cell.style)
            bytes += Array(String(cell.character).utf8)
            // Terminals disagree on the width of characters beyond ASCII: the next one needs a cursor position.
            isPlaced = cell.character.isASCII
        }
    }

    private mutating func move(_ row: Int, _ column: Int) { escape("[\(row + 1);\(column + 1)H") }

    private mutating func use(_ wanted: Style) {
        guard wanted != style else { return }
        var codes = "0"
        if wanted.isBold { codes += ";1" }
        if wanted.isDim { codes += ";2" }
        if wanted.isReversed { codes += ";7" }
        if hasColour, wanted.colour != .standard { codes += ";\(wanted.colour.rawValue)" }
        escape("[\(codes)m")
        style = wanted
    }

    private mutating func escape(_ text: String) {
        bytes.append(0x1B)
        bytes += Array(text.utf8)
    }
}
