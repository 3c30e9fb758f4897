import Glibc
import Logging

/// Where the loggers of a process write: one descriptor, one format, one level that can be changed while they are in use.
public final class ServerLog: Sendable {
    public let levels: LogLevels
    let writer: LogWriter

    /// Writes on standard error. What waits is written before the process ends.
    /// - Throws: `SystemError` when the process is out of descriptors.
    public static func standardError(level: Logger.Level = .info, format: LogFormat = .auto) throws -> ServerLog {
        let layout = LogLayout(format, isTerminal: isatty(STDERR_FILENO) == 1) { name in
            getenv(name).map { String(cString: $0) }
        }
        return ServerLog(
            levels: LogLevels(level),
            writer: try LogWriter(descriptor: STDERR_FILENO, layout: layout, isOfProcess: true))
    }

    init(levels: LogLevels, writer: LogWriter) {
        self.levels = levels
        self.writer = writer
    }

    /// Whether lines are for programs, which cannot read anything else between them.
    public var writesJSON: Bool { writer.layout.shape == .json }

    /// A logger of this log. One that is given a level of its own keeps it.
    public func logger(_ label: String) -> Logger {
        Logger(label: label) { ServerLogHandler(label: $0, levels: self.levels, writer: self.writer) }
    }

    /// Lines that were dropped because nothing took them, or that could not be written, since the start.
    public var linesDropped: UInt64 { writer.linesDropped }

    /// Why the last lines could not be written, such as a full disk; nil if they were.
    public var failure: String? { writer.failure }

    /// Returns once all that was logged before is written, or the time is over. Not on a loop's thread.
    /// - Returns: whether it is written.
    @discardableResult
    public func flush(within limit: Duration = .seconds(1)) -> Bool {
        writer.flush(within: limit)
    }
}
