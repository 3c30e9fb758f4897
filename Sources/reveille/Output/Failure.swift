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
        guard let words = words(of: error) else { return error }
        complain("reveille: \(words)")
        return Exit.unavailable
    }

    /// What went wrong, and what to do about it; nil for what is said elsewhere.
    static func words(of error: any Error) -> String? {
        if error is ExitCode || error is CleanExit || error is ValidationError { return nil }
        guard let system = error as? SystemError, system.errno == EADDRINUSE else { return "\(error)" }
        return "\(error); another program listens there: choose another port, or find it with ss -ltnp"
    }

    /// Says why it did not work out and ends with "failed".
    static func failed(_ words: String) -> any Error {
        complain("reveille: \(words)")
        return Exit.failed
    }
}
