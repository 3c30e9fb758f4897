import ArgumentParser
import EventLoop
import Foundation

/// The exit codes that scripts may rely on.
enum Exit {
    /// The thing asked for failed, or is not so.
    static let failed = ExitCode(1)
    /// It could not be reached, or could not run.
    static let unavailable = ExitCode(2)
}

enum Terminal {
    /// A line for people, beside the results.
    static func complain(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }

    /// Says what went wrong and ends with "could not run".
    static func unavailable(_ error: any Error) -> any Error {
        if error is ExitCode || error is CleanExit || error is ValidationError { return error }
        var line = "reveille: \(error)"
        if let error = error as? SystemError, error.errno == EADDRINUSE {
            line += "; another program listens there: choose another port, or find it with ss -ltnp"
        }
        complain(line)
        return Exit.unavailable
    }

    static var isInteractive: Bool { isatty(STDOUT_FILENO) == 1 }
    static var usesColour: Bool {
        isInteractive && ProcessInfo.processInfo.environment["NO_COLOR", default: ""].isEmpty
    }

    static func bold(_ text: String) -> String { usesColour ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
    static func dim(_ text: String) -> String { usesColour ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
    static func red(_ text: String) -> String { usesColour ? "\u{1B}[31m\(text)\u{1B}[0m" : text }
    static func green(_ text: String) -> String { usesColour ? "\u{1B}[32m\(text)\u{1B}[0m" : text }
}
