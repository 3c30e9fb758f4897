import Foundation

/// An article of the documentation, as lines.
struct Article {
    private let lines: [String]

    /// - Parameter path: from the root of the repository.
    init(_ path: String) throws {
        lines = String(decoding: try ProtocolDocument.bytes(path), as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
    }

    static func wireProtocol() throws -> Article {
        try Article("Sources/SignalProtocol/SignalProtocol.docc/WireProtocol.md")
    }

    static func callSemantics() throws -> Article {
        try Article("Sources/CallCore/CallCore.docc/CallSemantics.md")
    }

    /// The cells of the lines of all tables, without the backticks around a name.
    var rows: [[String]] {
        lines.filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map { cell in
                let cell = cell.trimmingCharacters(in: .whitespaces)
                let isName = cell.hasPrefix("`") && cell.hasSuffix("`") && cell.count(where: { $0 == "`" }) == 2
                return isName ? String(cell.dropFirst().dropLast()) : cell
            }
        }
    }

    /// The lines that begin with a number, as those of a numbered list.
    var numbers: [Int] {
        lines.compactMap { line in
            line.firstIndex(of: ".").flatMap { Int(line[..<$0]) }
        }
    }

    /// A frame of the examples.
    struct Frame {
        enum Direction: Character { case toServer = "→", fromServer = "←", push = "⇒" }

        let speaker: String
        let direction: Direction
        let text: String
    }

    /// Each begins with who says or hears it and an arrow; indented lines belong to the line before.
    var frames: [Frame] {
        var frames: [Frame] = []
        for line in lines {
            if line.hasPrefix("    "), let last = frames.popLast() {
                let text = last.text + line.drop(while: { $0 == " " })
                frames.append(Frame(speaker: last.speaker, direction: last.direction, text: text))
                continue
            }
            let words = line.split(separator: " ", maxSplits: 2)
            guard words.count == 3, words[1].count == 1, let arrow = words[1].first,
                let direction = Frame.Direction(rawValue: arrow), words[2].hasPrefix("{")
            else { continue }
            frames.append(Frame(speaker: String(words[0]), direction: direction, text: String(words[2])))
        }
        return frames
    }
}
