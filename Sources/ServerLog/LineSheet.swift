import Logging

/// Logs many lines at once, for what is logged thousands of times a second: each is made into bytes where it is logged,
/// and all of them are handed to the log's thread together.
///
/// A line comes out as if it had been logged with the logger. Where that is none of a ``ServerLog``, or has metadata of its
/// own, it is what logs them, one by one. Confined to one thread.
public final class LineSheet {
    /// So many lines, or bytes, are handed on without waiting for ``flush()``.
    private static let mostLines = 256
    private static let mostBytes = 64 * 1024

    private let logger: Logger
    /// Where the lines go; nil where the logger logs them.
    private let writer: LogWriter?
    /// nil where only the logger knows.
    private let levels: LogLevels?
    /// This and the label are not used without ``writer``.
    private let layout: LogLayout
    private let label: String
    private var bytes: [UInt8] = []
    private var lines = 0
    /// The beginning of the last line up to its message, and what it was made from: most lines begin alike.
    private var head: [UInt8] = []
    private var headLevel: Logger.Level?
    /// Of the lines since the last ``flush()``.
    private var time: LogTime?

    /// The line under way.
    private var level = Logger.Level.info
    private var message = ""
    private var metadata: Logger.Metadata = [:]
    private var lastKey = ""

    public init(_ logger: Logger) {
        self.logger = logger
        let handler = (logger.handler as? ServerLogHandler).flatMap { $0.addsMetadata ? nil : $0 }
        writer = handler?.writer
        levels = handler?.sharedLevels
        layout = handler?.writer.layout ?? LogLayout(.json)
        label = handler?.label ?? ""
    }

    /// Whether lines of this level are written.
    public func writes(_ level: Logger.Level) -> Bool { (levels?.level ?? logger.logLevel) <= level }

    /// Whether the lines are text, for people.
    public var isForPeople: Bool { writer != nil && layout.shape != .json }

    /// Writes a line that has a message alone.
    public func write(_ level: Logger.Level, _ message: String) {
        begin(level, message)
        end()
    }

    /// Begins a line. What follows are its fields, in the order of their keys, and ``end()``.
    /// - Parameter level: below an error's: those have room of their own in the log, which lines that come together have not.
    public func begin(_ level: Logger.Level, _ message: String) {
        precondition(level < .error, "an error is logged by itself")
        self.level = level
        lastKey = ""
        guard writer != nil else {
            self.message = message
            return
        }
        if time == nil || headLevel != level { makeHead(level) }
        bytes.append(contentsOf: head)
        layout.appendMessage(message, to: &bytes)
    }

    public func add(_ key: String, _ text: String) {
        guard writer != nil else { return add(key, .string(text)) }
        appendKey(key)
        layout.appendText(text, to: &bytes)
    }

    public func add(_ key: String, _ number: Int64) {
        guard writer != nil else { return add(key, .stringConvertible(number)) }
        appendKey(key)
        LogText.append(number, to: &bytes)
    }

    public func add(_ key: String, _ flag: Bool) {
        guard writer != nil else { return add(key, .stringConvertible(flag)) }
        appendKey(key)
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    /// Adds a text of known length that is one word of plain ASCII: letters, digits, and `-`, `_`, `/`, `.`.
    public func add(_ key: String, plain length: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
        guard writer != nil else {
            return add(
                key,
                .string(
                    String(unsafeUninitializedCapacity: length) { buffer in
                        write(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<length]))
                        return length
                    }))
        }
        appendKey(key)
        layout.appendQuote(to: &bytes)
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: length))
        bytes.withUnsafeMutableBytes { write(UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
        layout.appendQuote(to: &bytes)
    }

    public func end() {
        guard let writer else {
            logger.log(level: level, "\(message)", metadata: metadata)
            metadata = [:]
            return
        }
        layout.appendEnd(to: &bytes)
        lines += 1
        if lines == Self.mostLines || bytes.count >= Self.mostBytes { handOver(to: writer) }
    }

    /// Hands the lines on. They have the time of the first of them.
    public func flush() {
        if let writer { handOver(to: writer) }
        time = nil
    }

    private func handOver(to writer: LogWriter) {
        guard lines > 0 else { return }
        let room = bytes.count
        writer.take(bytes, lines: lines)
        bytes = []
        bytes.reserveCapacity(room)
        lines = 0
    }

    private func makeHead(_ level: Logger.Level) {
        let time = self.time ?? .now()
        self.time = time
        headLevel = level
        head.removeAll(keepingCapacity: true)
        layout.appendHead(time, level, label, to: &head)
    }

    private func appendKey(_ key: String) {
        assert(lastKey < key, "\(key) comes before \(lastKey)")
        lastKey = key
        layout.appendKey(key, to: &bytes)
    }

    private func add(_ key: String, _ value: Logger.MetadataValue) {
        assert(lastKey < key, "\(key) comes before \(lastKey)")
        lastKey = key
        metadata[key] = value
    }
}

@available(*, unavailable)
extension LineSheet: Sendable {}
