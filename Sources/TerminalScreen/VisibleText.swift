/// A character of one or two cells.
public struct Glyph: Equatable, Sendable {
    /// One visible scalar with its combining marks.
    public var character: Character
    /// 1 or 2.
    public var width: Int
}

/// Converts untrusted text to cells. Scalars that move the cursor, change the direction or are invisible are escaped,
/// as `\u{202E}`.
public enum VisibleText {
    /// The most combining marks on a base letter; more would overlap other rows.
    static let mostMarks = 3

    public static func glyphs(of text: String, isUnicode: Bool = true) -> [Glyph] {
        var glyphs: [Glyph] = []
        glyphs.reserveCapacity(text.utf8.count)
        var marks = 0
        for scalar in text.unicodeScalars {
            if scalar.isASCII, scalar.value >= 0x20, scalar.value != 0x7F {
                glyphs.append(Glyph(character: Character(scalar), width: 1))
                marks = 0
                continue
            }
            guard isUnicode, !isHidden(scalar) else {
                glyphs += isUnicode ? escaped(scalar) : spelt[scalar] ?? escaped(scalar)
                marks = 0
                continue
            }
            let width = width(of: scalar)
            if width > 0 {
                glyphs.append(Glyph(character: Character(scalar), width: width))
                marks = 0
            } else if let last = glyphs.indices.last, marks < mostMarks {
                marks += 1
                var joined = String(glyphs[last].character)
                joined.unicodeScalars.append(scalar)
                // Scalars that Swift does not join are escaped: terminals differ in joining them.
                if joined.count == 1 { glyphs[last].character = Character(joined) } else { glyphs += escaped(scalar) }
            } else if glyphs.isEmpty {
                glyphs += escaped(scalar)
            }
        }
        return glyphs
    }

    /// In cells.
    public static func width(of text: String, isUnicode: Bool = true) -> Int {
        glyphs(of: text, isUnicode: isUnicode).reduce(0) { $0 + $1.width }
    }

    /// ASCII replacements for common signs.
    private static let spelt: [Unicode.Scalar: [Glyph]] = [
        "…": "...", "→": "->", "↑": "^", "↓": "v", "“": "\"", "”": "\"", "▲": "^", "▼": "v",
    ].mapValues { $0.map { Glyph(character: $0, width: 1) } }

    private static func escaped(_ scalar: Unicode.Scalar) -> [Glyph] {
        "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".map { Glyph(character: $0, width: 1) }
    }

    /// Controls, direction marks, fillers, joiners and scalars without a glyph.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        if properties.isDefaultIgnorableCodePoint { return true }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return true
        case .spaceSeparator: return true
        default: return false
        }
    }

    /// 0 for combining marks, 2 for wide characters (Unicode, UAX #11: W and F).
    public static func width(of scalar: Unicode.Scalar) -> Int {
        let value = scalar.value
        if value < 0x300 { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        // Korean vowels and finals, which join the syllable before them.
        if 0x1160...0x11FF ~= value || 0xD7B0...0xD7FF ~= value { return 0 }
        if value < 0x1100 { return 1 }
        return isWide(value) ? 2 : 1
    }

    private static func isWide(_ value: UInt32) -> Bool {
        var (low, high) = (0, wide.count)
        while low < high {
            let middle = (low + high) / 2
            if wide[middle].upperBound < value { low = middle + 1 } else { high = middle }
        }
        return low < wide.count && wide[low].contains(value)
    }

    /// Sorted. From EastAsianWidth.txt of Unicode 15.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x23E9...0x23EC, 0x23F0...0x23F0, 0x23F3...0x23F3,
        0x25FD...0x25FE, 0x2614...0x2615, 0x2648...0x2653, 0x267F...0x267F, 0x2693...0x2693, 0x26A1...0x26A1,
        0x26AA...0x26AB, 0x26BD...0x26BE, 0x26C4...0x26C5, 0x26CE...0x26CE, 0x26D4...0x26D4, 0x26EA...0x26EA,
        0x26F2...0x26F3, 0x26F5...0x26F5, 0x26FA...0x26FA, 0x26FD...0x26FD, 0x2705...0x2705, 0x270A...0x270B,
        0x2728...0x2728, 0x274C...0x274C, 0x274E...0x274E, 0x2753...0x2755, 0x2757...0x2757, 0x2795...0x2797,
        0x27B0...0x27B0, 0x27BF...0x27BF, 0x2B1B...0x2B1C, 0x2B50...0x2B50, 0x2B55...0x2B55, 0x2E80...0x303E,
        0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19,
        0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x16FF1, 0x17000...0x18D08, 0x1AFF0...0x1B2FF,
        0x1F004...0x1F004, 0x1F0CF...0x1F0CF, 0x1F18E...0x1F18E, 0x1F191...0x1F19A, 0x1F200...0x1F320,
        0x1F32D...0x1F335, 0x1F337...0x1F37C, 0x1F37E...0x1F393, 0x1F3A0...0x1F3CA, 0x1F3CF...0x1F3D3,
        0x1F3E0...0x1F3F0, 0x1F3F4...0x1F3F4, 0x1F3F8...0x1F43E, 0x1F440...0x1F440, 0x1F442...0x1F4FC,
        0x1F4FF...0x1F53D, 0x1F54B...0x1F54E, 0x1F550...0x1F567, 0x1F57A...0x1F57A, 0x1F595...0x1F596,
        0x1F5A4...0x1F5A4, 0x1F5FB...0x1F64F, 0x1F680...0x1F6C5, 0x1F6CC...0x1F6CC, 0x1F6D0...0x1F6D2,
        0x1F6D5...0x1F6D7, 0x1F6DC...0x1F6DF, 0x1F6EB...0x1F6EC, 0x1F6F4...0x1F6FC, 0x1F7E0...0x1F7EB,
        0x1F7F0...0x1F7F0, 0x1F90C...0x1F93A, 0x1F93C...0x1F945, 0x1F947...0x1F9FF, 0x1FA70...0x1FAFF,
        0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]
}
