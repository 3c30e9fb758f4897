import ArgumentParser
import Foundation
import TerminalScreen

/// Runs a program on the terminal of this process.
enum FullScreen {
    /// - Throws: exit code 2, after printing the reason, without a terminal that can position text.
    static func traits(_ command: String) throws -> TerminalTraits {
        guard isatty(STDOUT_FILENO) == 1 else {
            Terminal.complain("reveille: \(command) needs a terminal; for scripts there is --once")
            throw Exit.unavailable
        }
        guard let traits = TerminalTraits(environment: ProcessInfo.processInfo.environment) else {
            Terminal.complain(
                "reveille: \(command) needs a terminal that can place text, and TERM says this one cannot; use --once")
            throw Exit.unavailable
        }
        return traits
    }

    /// Returns when the program is over or a signal ended it, with the terminal as it was.
    static func run<Program: ScreenProgram & Sendable>(
        _ program: Program, traits: TerminalTraits, inbox: ScreenInbox<Program.Event>,
        carryOut: @escaping @Sendable (Program.Effect) -> Void
    ) async throws -> Program {
        try await withCheckedThrowingContinuation { continuation in
            // A thread of its own: the loop blocks.
            let thread = Thread {
                do {
                    var program = program
                    let loop = ScreenLoop(device: try TerminalDevice(), traits: traits)
                    _ = try loop.run(&program, inbox: inbox, carryOut: carryOut)
                    continuation.resume(returning: program)
                } catch {
                    continuation.resume(throwing: error)
                }
            }
            thread.name = "screen"
            thread.start()
        }
    }
}
