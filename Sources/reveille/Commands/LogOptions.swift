import ArgumentParser
import Logging
import ServerLog

struct LogOptions: ParsableArguments {
    @Option(help: "The lowest level logged on standard error: trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .info
    @Option(help: "The format of log lines. auto: text on a terminal, json elsewhere.")
    var logFormat: LogFormat = .auto

    /// The log of this process. Its lines are written before the process ends.
    func open() throws -> ServerLog {
        do {
            return try ServerLog.standardError(level: logLevel, format: logFormat)
        } catch {
            throw Terminal.unavailable(error)
        }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
extension LogFormat: ExpressibleByArgument {}
