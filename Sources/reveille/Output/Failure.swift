import ArgumentParser
import EventLoop
import Glibc

/// The exit codes that scripts may rely on.
enum Exit {
    /// The operation failed, or the checked condition does not hold.
    static let failed = ExitCode(1)
    /// The server could not be reached, or the command could not run.
    static let unavailable = ExitCode(2)
}

extension Terminal {
    /// Prints the error; the exit code is ``Exit/unavailable``.
    static func unavailable(_ error: any Error) -> any Error {
        guard let words = words(of: error) else { return error }
        complain("reveille: \(words)")
        return Exit.unavailable
    }

    /// The error and advice; nil for errors that are printed elsewhere, and for the request for help, which ArgumentParser
    /// throws as an error of its own.
    static func words(of error: any Error) -> String? {
        if error is ExitCode || error is ValidationError || Reveille.exitCode(for: error) == .success { return nil }
        guard let system = error as? SystemError, system.errno == EADDRINUSE else { return "\(error)" }
        return "\(error); another program listens there: choose another port, or find it with ss -ltnp"
    }

    /// Prints the reason; the exit code is ``Exit/failed``.
    static func failed(_ words: String) -> any Error {
        complain("reveille: \(words)")
        return Exit.failed
    }
}
