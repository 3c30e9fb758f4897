/// A person's name as shown on the other side's screen.
///
/// Characters that could break a line, or change the display order of the text around them, are removed, and what shows
/// nothing by itself at the beginning, except isolates that are closed: a long name is shortened at its end, and it would
/// be all of it. A name that shows nothing is none: the other side's screen then has the handle. Each name that others send
/// becomes a `DisplayName` where it comes in, so that none that is kept is longer than its limit.
public struct DisplayName: Equatable, Sendable {
    public let text: String

    /// nil when only blanks and combining marks are left.
    /// - Parameter limit: the most bytes; the rest of a longer text is cut off, in whole Unicode scalars.
    public init?(_ text: String, upTo limit: Int = FrameLimits.name) {
        let kept = Array(text.unicodeScalars.filter { !Self.isLeftOut($0) })
        let start = kept.firstIndex { !Self.isBlank($0) } ?? kept.endIndex
        let shown = Self.cut(kept[start...], to: limit)
        // Apps wrap whole names in isolates: those at the beginning stay too, if each is closed within the limit.
        let wrapped = Self.cut(Self.opened(in: kept[..<start]) + kept[start...], to: limit)
        guard !shown.isEmpty, !wrapped.isEmpty else { return nil }
        let closed = [wrapped, shown].first { Self.areIsolatesClosed($0) }
        self.text = String(String.UnicodeScalarView(closed ?? shown.filter { !Self.isIsolate($0) }))
    }

    private static func cut(_ scalars: some Sequence<Unicode.Scalar>, to limit: Int) -> [Unicode.Scalar] {
        var size = 0
        return scalars.prefix { scalar in
            size += UTF8.width(scalar)
            return size <= limit
        }
    }

    /// The directional isolates that begin in `scalars` and do not end there.
    private static func opened(in scalars: ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar] {
        var open: [Unicode.Scalar] = []
        for scalar in scalars where isIsolate(scalar) {
            if scalar.value != 0x2069 { open.append(scalar) } else { _ = open.popLast() }
        }
        return open
    }

    /// Whether the scalar is removed: control characters (Cc), line and paragraph separators, bidirectional embeddings
    /// and overrides. Bidirectional marks and isolates, which right-to-left names need, and joiners are kept; isolates only
    /// if each is closed.
    public static func isLeftOut(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E: true
        default: false
        }
    }

    private static func isIsolate(_ scalar: Unicode.Scalar) -> Bool { 0x2066...0x2069 ~= scalar.value }

    /// Whether each directional isolate has its end. One that is open reaches to the end of the paragraph, over the words
    /// that a screen puts behind the name.
    private static func areIsolatesClosed(_ scalars: [Unicode.Scalar]) -> Bool {
        var open = 0
        for scalar in scalars where isIsolate(scalar) {
            open += scalar.value == 0x2069 ? -1 : 1
            if open < 0 { return false }
        }
        return open == 0
    }

    /// Blank by their names, though Unicode counts them as letters and symbols: the braille pattern without dots, the
    /// hieroglyphs full and half blank, the filler of Khitan, and the null notehead.
    private static let blankSymbols: [UInt32] = [0x2800, 0x13441, 0x13442, 0x16FE4, 0x1D159]

    /// Whether a text of such scalars alone shows nothing of its own: white space, control and format characters, fillers
    /// and other characters that Unicode lets fonts ignore, ``blankSymbols``, and combining marks, which change the
    /// character before them.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value <= 0x20 || scalar.value == 0x7F }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark,
            .spacingMark:
            return true
        default:
            return properties.isWhitespace || properties.isDefaultIgnorableCodePoint
                || blankSymbols.contains(scalar.value)
        }
    }
}
