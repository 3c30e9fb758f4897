import ArgumentParser
import CallVocabulary
import Foundation
import Synchronization

@testable import reveille

/// A command run in this process, with a terminal, a clock and an environment of the test's own.
struct CommandRun {
    let output: [String]
    let complaints: [String]
    let exit: Int32

    /// Lines from any thread.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

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
        let (output, complaints) = (Lines(), Lines())
        let console = console(width, colour, write: output.add, complain: complaints.add)
        let exit = await Console.$current.withValue(console) { await Reveille.perform(arguments) }
        return CommandRun(output: output.all, complaints: complaints.all, exit: exit)
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

    /// The one document that was printed.
    var json: Any? { try? JSONSerialization.jsonObject(with: Data(output.joined(separator: "\n").utf8)) }
}
