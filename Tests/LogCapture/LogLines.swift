import InMemoryLogging
import Logging
import Synchronization

/// Collects log lines as `level message key=value …`, with sorted keys.
public final class LogLines: Sendable {
    private let handler = InMemoryLogHandler()
    private let taken = Mutex(0)

    public init() {}

    /// The lines since the last call.
    public func take() -> [String] {
        taken.withLock { taken in
            let entries = handler.entries
            defer { taken = entries.count }
            return entries[taken...].map(Self.line)
        }
    }

    public func logger(_ level: Logger.Level = .info) -> Logger {
        var logger = Logger(label: "test") { _ in self.handler }
        logger.logLevel = level
        return logger
    }

    private static func line(_ entry: InMemoryLogHandler.Entry) -> String {
        let members = entry.metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\(text($0.value))" }
        return "\(entry.level) \(entry.message)\(members.joined())"
    }

    private static func text(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .string(let text): text
        case .stringConvertible(let value): value.description
        case .array(let values): "[\(values.map(text).joined(separator: ", "))]"
        case .dictionary(let members):
            "{" + members.sorted { $0.key < $1.key }.map { "\($0.key): \(text($0.value))" }.joined(separator: ", ")
                + "}"
        }
    }
}
