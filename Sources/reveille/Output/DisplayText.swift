import CallVocabulary
import TerminalScreen

/// Text from outside on a terminal, such as handles, names and reasons: escaped, and measured in columns.
extension StringProtocol {
    /// With what would move the cursor, turn the direction of writing or not be seen at all written as `\u{202E}`.
    var shown: String {
        guard unicodeScalars.contains(where: \.isHarmfulOnTerminals) else { return String(self) }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isHarmfulOnTerminals {
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

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

    /// Broken between words where it is longer than `limit` columns; nil for never.
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

    /// Its words, with a unit as part of its number.
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
    /// A terminal gives a whole cluster the room of its widest part.
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
