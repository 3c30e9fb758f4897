import ArgumentParser
import CallVocabulary

/// An id as people give it: whole, or so much of its beginning that it is clear which one is meant.
struct IDPrefix<Subject>: Sendable {
    /// Fewer hexadecimal digits are a slip rather than an id.
    static var fewestDigits: Int { 4 }
    private static var digits: Int { 32 }

    /// As it was typed, without case.
    let text: String
    /// The ids that begin so.
    let range: ClosedRange<Identifier<Subject>>

    /// The one it names; nil for a beginning.
    var exact: Identifier<Subject>? { range.lowerBound == range.upperBound ? range.lowerBound : nil }

    /// - Throws: `ValidationError`, so that it is the command line that is at fault.
    init(argument: String) throws {
        text = argument.lowercased()
        let hex = text.filter { $0 != "-" }
        guard (Self.fewestDigits...Self.digits).contains(hex.utf8.count),
            hex.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let lowest = Self.identifier(hex, filledWith: "0"), let highest = Self.identifier(hex, filledWith: "f")
        else {
            throw ValidationError(
                "'\(argument)' is no id: give a UUID, or at least the first \(Self.fewestDigits) digits of one.")
        }
        range = lowest...highest
    }

    private static func identifier(_ hex: String, filledWith digit: Character) -> Identifier<Subject>? {
        let full = hex + String(repeating: digit, count: digits - hex.utf8.count)
        guard let high = UInt64(full.prefix(16), radix: 16), let low = UInt64(full.suffix(16), radix: 16) else {
            return nil
        }
        return Identifier(high: high, low: low)
    }

    /// The one thing whose id begins so.
    /// - Parameters:
    ///   - candidates: all of them, or so many that it is clear that there are several.
    ///   - id: of one of them.
    ///   - line: one of them, for people to choose from.
    ///   - missing: what to say when there is none.
    /// - Throws: `ExitCode`, after saying why it is not one.
    func only<Item>(
        of candidates: [Item], id: (Item) -> Identifier<Subject>, line: (Item) -> String, missing: String
    ) throws -> Item {
        let fitting = candidates.filter { range.contains(id($0)) }
        guard let first = fitting.first else { throw Terminal.failed(missing) }
        guard fitting.count > 1 else { return first }
        Terminal.complain("reveille: '\(text)' is not the beginning of one id alone; give more of it:")
        for item in fitting.prefix(Self.mostShown) { Terminal.complain("  \(line(item))") }
        if fitting.count > Self.mostShown { Terminal.complain("  …") }
        throw Exit.failed
    }

    static var mostShown: Int { 10 }
}
