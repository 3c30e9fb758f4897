import Logging
import Synchronization

/// Keeps what is logged: `level: message key=value`.
final class LogRecorder: Sendable {
    private let recorded = Mutex<[String]>([])

    var lines: [String] { recorded.withLock { $0 } }

    /// What was logged since the last call.
    func takeLines() -> [String] {
        recorded.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(recorder: self) }
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let pairs = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            recorder.recorded.withLock { $0.append("\(event.level): \(event.message)" + pairs.joined()) }
        }
    }
}
