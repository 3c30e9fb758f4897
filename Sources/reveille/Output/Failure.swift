import ArgumentParser
import EventLoop
import Glibc

/// The exit codes that scripts may rely on.
enum Exit {
    /// The thing asked for failed, or is not so.
    static let failed = ExitCode(1)
    /// It could not be reached, or could not run.
    static let unavailable = ExitCode(2)
}

extension Terminal {
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

    /// Says what was wrong with what `command` was given, and how it is used. For what a command finds out when it
    /// runs: the library would tell the usage of the whole program.
    static func misused(_ command: any ParsableCommand.Type, _ error: ValidationError) -> any Error {
        complain("Error: \(error.message)")
        let usage = Reveille.usageString(for: command)
        complain("Usage: \(usage)")
        let name = usage.split(separator: " ").prefix { !$0.hasPrefix("<") && !$0.hasPrefix("[") }.joined(
            separator: " ")
        complain("  See '\(name) --help' for more information.")
        return ExitCode.validationFailure
    }

    /// Says why it did not work out and ends with "failed".
    static func failed(_ words: String) -> any Error {
        complain("reveille: \(words)")
        return Exit.failed
    }
}
