import ArgumentParser
import Logging

struct LogOptions: ParsableArguments {
    @Option(help: "What is logged on standard error: trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .info

    func logger(_ label: String) -> Logger {
        var logger = Logger(label: label, factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = logLevel
        return logger
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
