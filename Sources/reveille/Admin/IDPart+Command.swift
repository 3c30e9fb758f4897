import ArgumentParser
import CallVocabulary

extension IDPart {
    /// - Throws: `ValidationError`, a usage error.
    init(argument: String) throws {
        guard let part = IDPart(argument) else {
            throw ValidationError(
                "'\(argument)' is no id: give a UUID, or at least the first or the last \(Self.fewestDigits) digits "
                    + "of one.")
        }
        self = part
    }

    /// The maximum number of candidates shown for an ambiguous part.
    static var mostShown: Int { 10 }

    /// The only item whose id begins or ends with the part.
    /// - Parameters:
    ///   - candidates: all of them, or so many that it is clear that there are several.
    ///   - id: the id of an item.
    ///   - line: an item as a line of text.
    ///   - missing: the message when there is none.
    /// - Throws: `ExitCode`, after saying why it is not one.
    func only<Item>(
        of candidates: [Item], id: (Item) -> Identifier<Subject>, line: (Item) -> String, missing: String
    ) throws -> Item {
        let fitting = candidates.filter { names(id($0)) }
        guard let first = fitting.first else { throw Terminal.failed(missing) }
        guard fitting.count > 1 else { return first }
        Terminal.complain("reveille: '\(text)' is the beginning or the end of several ids; give more of the one:")
        for item in fitting.prefix(Self.mostShown) { Terminal.complain("  \(line(item))") }
        if fitting.count > Self.mostShown { Terminal.complain("  …") }
        throw Exit.failed
    }
}
