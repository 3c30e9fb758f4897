import CallVocabulary

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
        if isASCII { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return properties.isEmojiPresentation || Self.wide.contains { $0.contains(value) } ? 2 : 1
        }
    }

    /// Where East_Asian_Width is Wide or Fullwidth, in whole blocks (Unicode Standard Annex #11).
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1B000...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]
}
