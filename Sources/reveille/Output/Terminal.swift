/// What a terminal can do to a piece of text.
enum TextStyle: Sendable {
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

/// Speaks to whoever started the program.
enum Terminal {
    /// A line of the results.
    static func print(_ line: String) { Console.current.write(line) }

    static func print(_ lines: [String]) {
        for line in lines { print(line) }
    }

    /// A line for people, beside the results.
    static func complain(_ line: String) { Console.current.complain(line) }

    static var isInteractive: Bool { Console.current.isInteractive }
    static var usesColour: Bool { Console.current.usesColour }

    static func styled(_ text: String, _ style: TextStyle) -> String {
        guard usesColour, let code = style.code, !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    static func bold(_ text: String) -> String { styled(text, .bold) }
    static func dim(_ text: String) -> String { styled(text, .dim) }
    static func red(_ text: String) -> String { styled(text, .red) }
    static func green(_ text: String) -> String { styled(text, .green) }
}
