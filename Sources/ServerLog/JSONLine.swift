import Logging

/// An entry as one JSON object: `time`, `level`, `logger`, `message`, then the metadata under its own keys, in the order
/// of their names.
enum JSONLine {
    private static let ownKeys: Set<String> = ["time", "level", "logger", "message"]

    static func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "{\"time\":\"\(entry.time.universal)\",\"level\":\"\(entry.level.rawValue)\"".utf8)
        bytes.append(contentsOf: ",\"logger\":".utf8)
        append(entry.label, to: &bytes)
        bytes.append(contentsOf: ",\"message\":".utf8)
        append(entry.message, to: &bytes)
        for (key, value) in entry.metadata.sorted(by: { $0.key < $1.key }) {
            bytes.append(UInt8(ascii: ","))
            append(ownKeys.contains(key) ? "\(key)_" : key, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            append(value, to: &bytes)
        }
        bytes.append(contentsOf: "}\n".utf8)
    }

    private static func append(_ value: Logger.MetadataValue, to bytes: inout [UInt8]) {
        switch value {
        case .string(let text): append(text, to: &bytes)
        case .stringConvertible(let value):
            if isPlain(value) {
                bytes.append(contentsOf: value.description.utf8)
            } else {
                append(value.description, to: &bytes)
            }
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .dictionary(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, (key, value)) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                append(value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Whether its description is a JSON number or truth value.
    private static func isPlain(_ value: any CustomStringConvertible & Sendable) -> Bool {
        // Nearly all are; the protocol below takes longer to look up.
        if value is Int || value is Int64 || value is Bool { return true }
        if let number = value as? Double { return number.isFinite }
        return value is any FixedWidthInteger || value is Bool
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        LogText.appendEscaped(text, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }
}
