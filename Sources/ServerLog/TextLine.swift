import Logging

/// An entry for people: time, level, message, then `key=value` in the order of the names. A value that is not one plain
/// word stands in quotes.
struct TextLine {
    let colour: Bool

    /// So that messages stand in one column.
    private static let levelWidth = 8

    func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: entry.time.local.utf8)
        bytes.append(UInt8(ascii: " "))
        let level = entry.level.rawValue
        let padding = String(repeating: " ", count: Self.levelWidth - level.count)
        paint(Self.colour(of: entry.level), &bytes) { $0.append(contentsOf: level.utf8) }
        bytes.append(contentsOf: "\(padding) ".utf8)
        LogText.appendEscaped(entry.message, unquoted: true, to: &bytes)
        for (key, value) in entry.metadata.sorted(by: { $0.key < $1.key }) {
            bytes.append(UInt8(ascii: " "))
            paint("2", &bytes) { bytes in
                LogText.appendEscaped(key, to: &bytes)
                bytes.append(UInt8(ascii: "="))
            }
            let text = Self.text(value)
            if LogText.isPlain(text) {
                bytes.append(contentsOf: text.utf8)
            } else {
                bytes.append(UInt8(ascii: "\""))
                LogText.appendEscaped(text, to: &bytes)
                bytes.append(UInt8(ascii: "\""))
            }
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func text(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .string(let text): text
        case .stringConvertible(let value): value.description
        case .array(let values): "[\(values.map(text).joined(separator: ", "))]"
        case .dictionary(let members):
            "{\(members.sorted { $0.key < $1.key }.map { "\($0.key): \(text($0.value))" }.joined(separator: ", "))}"
        }
    }

    /// The number of an ANSI colour; nil for what is not to stand out.
    private static func colour(of level: Logger.Level) -> String? {
        switch level {
        case .trace, .debug: "2"
        case .info: nil
        case .notice: "36"
        case .warning: "33"
        case .error, .critical: "31"
        }
    }

    private func paint(_ code: String?, _ bytes: inout [UInt8], _ body: (inout [UInt8]) -> Void) {
        guard colour, let code else { return body(&bytes) }
        bytes.append(contentsOf: "\u{1B}[\(code)m".utf8)
        body(&bytes)
        bytes.append(contentsOf: "\u{1B}[0m".utf8)
    }
}
