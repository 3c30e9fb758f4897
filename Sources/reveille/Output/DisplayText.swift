import CallVocabulary
import TerminalScreen

/// Text from outside on a terminal, such as handles, names and reasons: escaped, and measured in columns.
extension StringProtocol {
    /// Escapes scalars that move the cursor, change the writing direction or are invisible, as `\u{202E}`.
    var shown: String { printable }

    /// How many columns a terminal takes for it.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// At most `limit` columns of it, the last of them an ellipsis if something is left out.
    func shortened(to limit: Int) -> String {
        guard columns > limit else { return String(self) }
        var (text, room) = ("", Swift.max(0, limit - 1))
        for character in self {
            guard character.columns <= room else { break }
            text.append(character)
            room -= character.columns
        }
        return limit > 0 ? text + "…" : ""
    }

    /// At most `limit` columns of it, its beginning and its end, which tell names apart, with an ellipsis between.
    func cutInMiddle(to limit: Int) -> String {
        guard columns > limit, limit > 2 else { return shortened(to: limit) }
        var (end, room) = ("", (limit - 1) / 2)
        for character in reversed() {
            guard character.columns <= room else { break }
            end = String(character) + end
            room -= character.columns
        }
        return shortened(to: limit - end.columns) + end
    }

    /// The text as lines of at most `limit` columns, broken between words; nil: no limit.
    func wrapped(to limit: Int?) -> [String] {
        guard let limit, columns > limit else { return [String(self)] }
        var lines: [String] = []
        var line = ""
        for word in wordsWithUnits {
            if !line.isEmpty, line.columns + 1 + word.columns > limit {
                lines.append(line)
                line = hasPrefix("- ") ? "  " + word : String(word)
            } else {
                line += line.isEmpty ? String(word) : " " + word
            }
        }
        return lines + [line]
    }

    /// The words of the text. A unit stays with its number.
    private var wordsWithUnits: [String] {
        split(separator: " ").reduce(into: []) { words, word in
            let isUnit = word.count <= 4 && word.first?.isLetter == true
            if let last = words.last, last.allSatisfy({ $0.isNumber || $0 == "." }), isUnit {
                words[words.count - 1] = "\(last) \(word)"
            } else {
                words.append(String(word))
            }
        }
    }

    /// Filled with space up to `width` columns.
    func padded(to width: Int, right: Bool = false) -> String {
        let space = String(repeating: " ", count: Swift.max(0, width - columns))
        return right ? space + self : self + space
    }
}

extension Character {
    /// The width of a grapheme cluster is that of its widest scalar.
    fileprivate var columns: Int {
        if isASCII { return 1 }
        // An emoji by its selector (U+FE0F), as "☎️" is.
        if unicodeScalars.contains("\u{FE0F}") { return 2 }
        return unicodeScalars.reduce(0) { Swift.max($0, $1.columns) }
    }
}

extension Unicode.Scalar {
    fileprivate var columns: Int {
        if properties.generalCategory == .format { return 0 }
        return properties.isEmojiPresentation ? 2 : VisibleText.width(of: self)
    }
}
