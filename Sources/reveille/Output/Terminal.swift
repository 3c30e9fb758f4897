/// The style of a piece of text.
enum TextStyle: Sendable, CaseIterable {
    case plain, bold, dim, red, green, yellow

    fileprivate var code: String? {
        switch self {
        case .plain: nil
        case .bold: "1"
        case .dim: "2"
        case .red: "31"
        case .green: "32"
        case .yellow: "33"
        }
    }
}

/// Prints results and messages.
///
/// Every line passes ``rendered(_:)``, which escapes terminal controls from any source. Only the styles of
/// ``styled(_:_:)`` take effect.
enum Terminal {
    /// Prints a line to standard output.
    static func print(_ line: String) { Console.current.write(rendered(line)) }

    static func print(_ lines: [String]) {
        for line in lines { print(line) }
    }

    /// Prints a line to standard error.
    static func complain(_ line: String) { Console.current.complain(rendered(line)) }

    static func complain(_ lines: [String]) {
        for line in lines { complain(line) }
    }

    static var isInteractive: Bool { Console.current.isInteractive }
    static var usesColour: Bool { Console.current.usesColour }

    // MARK: Styles

    /// Stands for the beginning of an escape sequence until the text is written. Drawn anew for each process, so that
    /// nobody else's text has it.
    private static let mark = "\u{E000}\(UInt64.random(in: .min ... .max))\u{E001}"
    private static let endOfCode: Unicode.Scalar = "m"

    static func styled(_ text: String, _ style: TextStyle) -> String {
        guard usesColour, let code = style.code, !text.isEmpty else { return text }
        return "\(mark)\(code)\(endOfCode)\(text)\(mark)0\(endOfCode)"
    }

    static func bold(_ text: String) -> String { styled(text, .bold) }
    static func dim(_ text: String) -> String { styled(text, .dim) }
    static func red(_ text: String) -> String { styled(text, .red) }
    static func green(_ text: String) -> String { styled(text, .green) }

    /// As it is written: the styles as escape sequences, and everything else that a terminal would act on spelt out.
    static func rendered(_ line: String) -> String {
        // By scalars: a combining mark behind a code would be one character with it.
        var pieces = line.unicodeScalars.split(separator: mark.unicodeScalars, omittingEmptySubsequences: false)[...]
        var text = pieces.popFirst().map { Substring($0).shown } ?? ""
        for piece in pieces {
            let code = piece.prefix { $0 != endOfCode }
            text += "\u{1B}[\(Substring(code))m" + Substring(piece[code.endIndex...].dropFirst()).shown
        }
        return text
    }
}
