import Logging

/// An entry for people: time, level, message, then `key=value` in the order of the names. A value that is not one plain
/// word stands in quotes.
struct TextLine {
    let colour: Bool

    /// So that messages stand in one column.
    private static let levelWidth = 8

    func appendHead(_ time: LogTime, _ level: Logger.Level, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: time.local.utf8)
        bytes.append(UInt8(ascii: " "))
        let word = level.rawValue
        let padding = String(repeating: " ", count: Self.levelWidth - word.count)
        paint(Self.colour(of: level), &bytes) { $0.append(contentsOf: word.utf8) }
        bytes.append(contentsOf: "\(padding) ".utf8)
    }

    func appendKey(_ key: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: " "))
        paint("2", &bytes) { bytes in
            LogText.appendEscaped(key, to: &bytes)
            bytes.append(UInt8(ascii: "="))
        }
    }

    static func append(_ value: Logger.MetadataValue, to bytes: inout [UInt8]) { append(text(value), to: &bytes) }

    static func append(_ text: String, to bytes: inout [UInt8]) {
        if LogText.isPlain(text) {
            bytes.append(contentsOf: text.utf8)
        } else {
            bytes.append(UInt8(ascii: "\""))
            LogText.appendEscaped(text, to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
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
