import TerminalScreen

/// The line that a person types at a phone, and those before it: edited with the usual keys of a shell.
struct OrderLine {
    enum Outcome: Equatable {
        case changed, ignored
        case entered(String)
        /// Ctrl-C, Ctrl-Z, and Ctrl-D on an empty line.
        case interrupted, suspended, ended
    }

    private static let longest = 4096
    private static let mostKept = 500

    private var characters: [Character] = []
    /// The place of the next character.
    private var cursor = 0
    private var history: [String] = []
    /// Which of the history is shown; its count for the new line.
    private var position = 0
    /// The new line, while another one is shown.
    private var draft: [Character] = []

    mutating func pressed(_ key: Key) -> Outcome {
        switch key {
        case .enter: enter()
        case .up, .control("p"): recall(position - 1)
        case .down, .control("n"): recall(position + 1)
        case .left, .control("b"): move(to: cursor - 1)
        case .right, .control("f"): move(to: cursor + 1)
        case .home, .control("a"): move(to: 0)
        case .end, .control("e"): move(to: characters.count)
        case .backspace: remove(cursor - 1..<cursor)
        case .delete: remove(cursor..<cursor + 1)
        case .control("u"): remove(0..<cursor)
        case .control("k"): remove(cursor..<characters.count)
        case .control("w"): remove(startOfWord..<cursor)
        case .control("c"): .interrupted
        case .control("z"): .suspended
        case .control("d"): characters.isEmpty ? .ended : remove(cursor..<cursor + 1)
        case .character(let character): insert(character)
        case .pageUp, .pageDown, .tab, .escape, .control: .ignored
        }
    }

    private mutating func enter() -> Outcome {
        let text = String(characters)
        if !characters.allSatisfy(\.isWhitespace), text != history.last { history.append(text) }
        history.removeFirst(max(0, history.count - Self.mostKept))
        (characters, draft, cursor, position) = ([], [], 0, history.count)
        return .entered(text)
    }

    private mutating func recall(_ wanted: Int) -> Outcome {
        guard (0...history.count).contains(wanted) else { return .ignored }
        if position == history.count { draft = characters }
        position = wanted
        characters = wanted == history.count ? draft : Array(history[wanted])
        cursor = characters.count
        return .changed
    }

    private mutating func move(to place: Int) -> Outcome {
        guard (0...characters.count).contains(place), place != cursor else { return .ignored }
        cursor = place
        return .changed
    }

    private mutating func remove(_ range: Range<Int>) -> Outcome {
        guard !range.isEmpty, range.lowerBound >= 0, range.upperBound <= characters.count else { return .ignored }
        characters.removeSubrange(range)
        cursor = range.lowerBound
        return .changed
    }

    private mutating func insert(_ character: Character) -> Outcome {
        guard characters.count < Self.longest else { return .ignored }
        characters.insert(character, at: cursor)
        cursor += 1
        return .changed
    }

    private var startOfWord: Int {
        let end = characters[..<cursor].lastIndex { !$0.isWhitespace } ?? 0
        return characters[..<end].lastIndex { $0.isWhitespace }.map { $0 + 1 } ?? 0
    }

    /// The part of the line around the cursor that fits `width` columns, and by how many of them the cursor stands before
    /// its end.
    func shown(width: Int) -> (text: String, back: Int) {
        let cells = characters.map { VisibleText.glyphs(of: String($0)) }
        let widths = cells.map { $0.reduce(0) { $0 + $1.width } }
        var (start, used) = (cursor, 0)
        while start > 0, used + widths[start - 1] < width {
            start -= 1
            used += widths[start]
        }
        var (end, back) = (cursor, 0)
        while end < widths.count, used + back + widths[end] < width {
            back += widths[end]
            end += 1
        }
        return (String(cells[start..<end].flatMap { $0.map(\.character) }), back)
    }
}
