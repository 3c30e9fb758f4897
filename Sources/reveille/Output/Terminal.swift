import Foundation

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
/// Every line passes ``rendered(_:)``, the one place where text becomes what a terminal acts on: whoever wrote it, only
/// the styles of ``styled(_:_:)`` have an effect there.
enum Terminal {
    /// A line of the results.
    static func print(_ line: String) { Console.current.write(rendered(line)) }

    static func print(_ lines: [String]) {
        for line in lines { print(line) }
    }

    /// A line for people, beside the results.
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
    private static let endOfCode: Character = "m"

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
        var pieces = line.components(separatedBy: mark)[...]
        var text = (pieces.popFirst() ?? "").shown
        for piece in pieces {
            let parts = piece.split(separator: endOfCode, maxSplits: 1, omittingEmptySubsequences: false)
            text += "\u{1B}[\(parts[0])m" + (parts.count > 1 ? parts[1].shown : "")
        }
        return text
    }
}
