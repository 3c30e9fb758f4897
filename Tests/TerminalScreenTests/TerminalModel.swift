@testable import TerminalScreen

/// A small terminal: understands what ``FrameWriter`` writes, and nothing else.
struct TerminalModel {
    let width: Int
    let height: Int
    private(set) var cells: [Cell]
    private var row = 0
    private var column = 0
    private var style = Style.plain
    /// What it did not understand.
    private(set) var faults: [String] = []

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        // A screen that was not clear before.
        cells = Array(repeating: Cell(character: "#", style: .reversed), count: width * height)
    }

    mutating func take(_ bytes: [UInt8]) {
        var rest = Substring(String(decoding: bytes, as: UTF8.self)).unicodeScalars
        while let scalar = rest.popFirst() {
            guard scalar == "\u{1B}" else {
                var text = String(scalar)
                while let mark = rest.first, mark.properties.generalCategory == .nonspacingMark {
                    text.unicodeScalars.append(mark)
                    rest.removeFirst()
                }
                write(Character(text))
                continue
            }
            _ = rest.popFirst()
            var parameters = ""
            while let next = rest.popFirst() {
                guard next.properties.isAlphabetic else {
                    parameters.unicodeScalars.append(next)
                    continue
                }
                obey(next, parameters.split(separator: ";").map { Int($0) ?? 0 })
                break
            }
        }
    }

    private mutating func write(_ character: Character) {
        let width = VisibleText.width(of: String(character))
        guard row < height, column + width <= self.width else { return faults.append("wrote beyond the edge") }
        cells[row * self.width + column] = Cell(character: character, style: style)
        if width == 2 { cells[row * self.width + column + 1] = Cell(character: "\0", style: style) }
        column += width
    }

    private mutating func obey(_ command: Unicode.Scalar, _ numbers: [Int]) {
        switch command {
        case "H": (row, column) = (numbers[0] - 1, numbers[1] - 1)
        case "J": cells = Array(repeating: Cell(character: " ", style: style), count: cells.count)
        case "K":
            for index in row * width + column..<(row + 1) * width { cells[index] = Cell(character: " ", style: style) }
        case "m":
            for number in numbers {
                switch number {
                case 0: style = .plain
                case 1: style.isBold = true
                case 2: style.isDim = true
                case 7: style.isReversed = true
                default:
                    guard let colour = Style.Colour(rawValue: UInt8(number)) else {
                        faults.append("colour \(number)")
                        continue
                    }
                    style.colour = colour
                }
            }
        default: faults.append("command \(command)")
        }
    }
}
