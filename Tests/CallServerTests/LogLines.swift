import Logging
import Synchronization

/// Collects log lines as `level message key=value …`, with sorted keys.
final class LogLines: Sendable {
    private let all = Mutex<[String]>([])

    var lines: [String] { all.withLock { $0 } }

    /// The lines since the last call.
    func take() -> [String] {
        all.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    func logger(_ level: Logger.Level = .info) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(lines: self) }
        logger.logLevel = level
        return logger
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map {
                " \($0.key)=\(Self.text($0.value))"
            }
            lines.all.withLock { $0.append("\(event.level) \(event.message)\(metadata.joined())") }
        }

        private static func text(_ value: Logger.MetadataValue) -> String {
            switch value {
            case .string(let text): text
            case .stringConvertible(let value): value.description
            case .array(let values): "[\(values.map(text).joined(separator: ", "))]"
            case .dictionary(let members):
                "{"
                    + members.sorted { $0.key < $1.key }.map { "\($0.key): \(text($0.value))" }
                    .joined(separator: ", ") + "}"
            }
        }
    }
}
