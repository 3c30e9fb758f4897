import Logging

/// An entry as one JSON object: `time`, `level`, `logger`, `message`, then the metadata under its own keys, in the order
/// of their names.
enum JSONLine {
    static func appendHead(_ time: LogTime, _ level: Logger.Level, _ label: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "{\"time\":\"\(time.universal)\",\"level\":\"\(level.rawValue)\"".utf8)
        bytes.append(contentsOf: ",\"logger\":".utf8)
        append(label, to: &bytes)
        bytes.append(contentsOf: ",\"message\":".utf8)
    }

    static func appendKey(_ key: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: ",\"".utf8)
        LogText.appendEscaped(key, to: &bytes)
        // These are the line's own.
        switch key {
        case "time", "level", "logger", "message": bytes.append(UInt8(ascii: "_"))
        default: break
        }
        bytes.append(contentsOf: "\":".utf8)
    }

    static func append(_ value: Logger.MetadataValue, to bytes: inout [UInt8]) {
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

    static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        LogText.appendEscaped(text, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }
}
