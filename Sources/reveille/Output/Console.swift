import CallVocabulary
import Foundation

/// The output streams, the terminal's capabilities, and the clock.
struct Console: Sendable {
    /// In columns; nil where lines may be of any length, because no terminal shows them.
    var width: Int?
    var isInteractive: Bool
    var usesColour: Bool
    var timeZone: TimeZone
    var now: @Sendable () -> Instant
    /// Writes one line to standard output.
    var write: @Sendable (String) -> Void
    /// Writes one line to standard error.
    var complain: @Sendable (String) -> Void
    /// Whether what is shown is of a server that does not run: what was open then gets no older.
    var isServerDown = false

    /// That of the command under way: the process's own, unless a test has put another in its place.
    @TaskLocal static var current = Console.ofProcess()

    private static func ofProcess() -> Console {
        let environment = ProcessInfo.processInfo.environment
        let isInteractive = isatty(STDOUT_FILENO) == 1
        return Console(
            width: width(isInteractive, environment["COLUMNS"]), isInteractive: isInteractive,
            usesColour: isInteractive && environment["NO_COLOR", default: ""].isEmpty
                && environment["TERM"] != "dumb",
            timeZone: .current,
            now: { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) },
            write: { line in
                let failure = StandardStream.write(line + "\n", to: STDOUT_FILENO)
                if failure != 0 { StandardStream.end(after: failure) }
            },
            // Nobody hears that nobody hears.
            complain: { _ = StandardStream.write($0 + "\n", to: STDERR_FILENO) })
    }

    /// `COLUMNS` overrides the width of the terminal, and applies without one.
    private static func width(_ isInteractive: Bool, _ columns: String?) -> Int? {
        if let columns = columns.flatMap({ Int($0) }), columns > 0 { return columns }
        guard isInteractive else { return nil }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
