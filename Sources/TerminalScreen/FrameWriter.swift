/// Turns one picture into the next with as few bytes as is simple: only what differs is written.
public struct FrameWriter: Sendable {
    /// Cells that do not differ are written all the same where going around them takes as many bytes.
    private static let shortGap = 4

    private let hasColour: Bool
    private var bytes: [UInt8] = []
    /// What the terminal writes with now; nil when that is not known.
    private var style: Style?

    /// - Parameters:
    ///   - old: what the terminal shows; nil, or of another size, when that is not known.
    ///   - new: what it shall show.
    public static func bytes(from old: ScreenBuffer?, to new: ScreenBuffer, hasColour: Bool) -> [UInt8] {
        var writer = FrameWriter(hasColour: hasColour)
        if let old, old.width == new.width, old.height == new.height {
            writer.write(from: old, to: new)
        } else {
            writer.use(.plain)
            writer.escape("[2J")
            writer.write(from: ScreenBuffer(width: new.width, height: new.height), to: new)
        }
        // The next frame, or another program, begins with what is known.
        if writer.style != nil { writer.use(.plain) }
        return writer.bytes
    }

    private init(hasColour: Bool) { self.hasColour = hasColour }

    private mutating func write(from old: ScreenBuffer, to new: ScreenBuffer) {
        for row in 0..<new.height {
            let base = row * new.width
            // From here on the row is empty, so that it can be cleared at one go.
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

    /// Where the run that begins at `start` has its end.
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
            // How far a terminal moves for a character beyond ASCII is its own opinion: say where the next one goes.
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
