import Logging

/// Hands lines to the writer. It makes no text of them: that is done on the writer's thread.
struct ServerLogHandler: LogHandler {
    let label: String
    private let levels: LogLevels
    let writer: LogWriter
    /// Of this logger alone, once it was set.
    private var ownLevel: Logger.Level?
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, levels: LogLevels, writer: LogWriter) {
        self.label = label
        self.levels = levels
        self.writer = writer
    }

    /// Where its level stands; nil once it has one of its own.
    var sharedLevels: LogLevels? { ownLevel == nil ? levels : nil }

    /// Whether lines have more metadata than they are given.
    var addsMetadata: Bool { metadataProvider != nil || !metadata.isEmpty }

    var logLevel: Logger.Level {
        get { ownLevel ?? levels.level }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        // What is given counts before what is provided, and that before the logger's own. Most have only the first.
        var all = event.metadata ?? [:]
        if let provided = metadataProvider?.get() { all.merge(provided) { first, _ in first } }
        if !metadata.isEmpty { all.merge(metadata) { first, _ in first } }
        if let error = event.error { all["error"] = "\(error)" }
        writer.take(
            LogEntry(time: .now(), level: event.level, label: label, message: event.message.description, metadata: all))
    }
}
