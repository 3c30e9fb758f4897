import ArgumentParser
import CallVocabulary
import EventJournal
import Foundation
import Testing

@testable import reveille

/// A command run in this process, with a terminal, a clock and an environment of the test's own.
struct CommandRun {
    let output: [String]
    let complaints: [String]
    let exit: Int32

    /// An hour after the calls of ``Scenarios``.
    static let now = Scenarios.begin + .seconds(3600)

    static func of(
        _ line: String, data: String? = nil, width: Int? = nil, colour: Bool = false
    ) async -> CommandRun {
        var arguments = line.split(separator: " ").map(String.init)
        if let data { arguments += ["--data", data] }
        return await of(arguments, width: width, colour: colour)
    }

    static func of(_ arguments: [String], width: Int? = nil, colour: Bool = false) async -> CommandRun {
        let (output, complaints) = (Journal<String>(), Journal<String>())
        let console = console(width, colour, write: output.append, complain: complaints.append)
        let exit = await Console.$current.withValue(console) { await Reveille.perform(arguments) }
        return CommandRun(output: output.entries, complaints: complaints.entries, exit: exit)
    }

    /// Runs `body` at ``now``.
    static func atItsTime<Result>(
        width: Int? = nil, colour: Bool = false, _ body: () throws -> Result
    ) rethrows -> Result {
        let console = console(width, colour, write: { _ in }, complain: { _ in })
        return try Console.$current.withValue(console, operation: body)
    }

    private static func console(
        _ width: Int?, _ colour: Bool, write: @escaping @Sendable (String) -> Void,
        complain: @escaping @Sendable (String) -> Void
    ) -> Console {
        Console(
            width: width, isInteractive: false, usesColour: colour,
            // Of the same offset all year round.
            timeZone: TimeZone(secondsFromGMT: 9 * 3600)!, now: { now }, write: write, complain: complain)
    }

    /// Checks that it failed, printed nothing, and complained with these words.
    /// - Parameter lines: the number of complaints.
    func expectFailure(
        _ code: Int32, lines: Int? = nil, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(exit == code && output.isEmpty, "\(self)", sourceLocation: sourceLocation)
        if let lines { #expect(complaints.count == lines, "\(complaints)", sourceLocation: sourceLocation) }
        let text = complaints.joined()
        for word in words { #expect(text.contains(word), "\(complaints)", sourceLocation: sourceLocation) }
    }

    /// The one document that was printed.
    var json: Any? { try? JSONSerialization.jsonObject(with: Data(output.joined(separator: "\n").utf8)) }
}
