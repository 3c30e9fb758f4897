import CallVocabulary
import Foundation

package enum JSONText {
    /// Appends a JSON string (RFC 8259, section 7).
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        if appendAsIs(text, to: &bytes) { return }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                bytes += "\\u00".utf8
                bytes += [byte >> 4, byte & 0xF].map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: "a") + $0 - 10 }
            default: bytes.append(byte)
            }
        }
    }

    /// Appends a text that needs no escapes, as nearly all do.
    /// - Returns: false when the text may need escapes; nothing is appended then.
    private static func appendAsIs(_ text: String, to bytes: inout [UInt8]) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { text in
            for byte in text where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                return false
            }
            bytes.append(contentsOf: text)
            return true
        } ?? false
    }

    /// `["alice","bob"]`.
    static func list(_ texts: [String]) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `["alice","bob"]`.
    package static func append(_ handles: [Handle], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "["))
        for (index, handle) in handles.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(handle.text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Appends `[null,5000]`, in milliseconds.
    package static func append(_ steps: [Duration?], to bytes: inout [UInt8]) {
        let texts = steps.map { $0.map { "\($0.wholeMilliseconds)" } ?? "null" }
        bytes += "[\(texts.joined(separator: ","))]".utf8
    }

    /// - Returns: nil when the text is not a list of times.
    package static func steps(_ text: String) -> [Duration?]? {
        let steps = try? JSONDecoder().decode([Int64?].self, from: Data(text.utf8))
        guard steps?.allSatisfy({ $0.map(StoredTime.isPossible) ?? true }) == true else { return nil }
        return steps.map { steps in steps.map { step in step.map { .milliseconds($0) } } }
    }

    /// Appends `{"bob":10000}`, in milliseconds.
    package static func append(_ delays: [Handle: Duration], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        for (index, delay) in delays.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(delay.key.text, to: &bytes)
            bytes += ":\(delay.value.wholeMilliseconds)".utf8
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// - Returns: nil when the text does not give times to handles.
    package static func delays(_ text: String) -> [Handle: Duration]? {
        guard let times = try? JSONDecoder().decode([String: Int64].self, from: Data(text.utf8)) else { return nil }
        var delays: [Handle: Duration] = [:]
        for (name, time) in times {
            guard let handle = Handle(known: name), StoredTime.isPossible(time) else { return nil }
            delays[handle] = .milliseconds(time)
        }
        return delays
    }

    /// - Returns: nil when the text is not a list of handles.
    package static func handles(_ text: String) -> [Handle]? {
        guard let texts = try? JSONDecoder().decode([String].self, from: Data(text.utf8)) else { return nil }
        let handles = texts.compactMap { Handle(known: $0) }
        return handles.count == texts.count ? handles : nil
    }

    /// Joins values to an array, byte for byte.
    package static func array(_ values: [RawJSON]) -> RawJSON {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(values.reduce(2) { $0 + $1.bytes.count + 1 })
        bytes.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += value.bytes
        }
        bytes.append(UInt8(ascii: "]"))
        return RawJSON(bytes: bytes)
    }

    /// The values of an array that ``array(_:)`` has written, byte for byte. They were validated before they were
    /// stored, so this only finds the commas that separate them.
    /// - Returns: nil when the text is not an array.
    package static func elements(_ array: RawJSON) -> [RawJSON]? {
        guard array.bytes.count >= 2, array.bytes.first == UInt8(ascii: "["), array.bytes.last == UInt8(ascii: "]")
        else { return nil }
        let inner = array.bytes.dropFirst().dropLast()
        guard !inner.isEmpty else { return [] }
        var elements: [RawJSON] = []
        var (start, depth, isInString, isEscaped) = (inner.startIndex, 0, false, false)
        for (index, byte) in zip(inner.indices, inner) {
            if isInString {
                if byte == UInt8(ascii: "\""), !isEscaped { isInString = false }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ",") where depth == 0:
                elements.append(RawJSON(bytes: Array(inner[start..<index])))
                start = index + 1
            default: break
            }
        }
        guard depth == 0, !isInString else { return nil }
        return elements + [RawJSON(bytes: Array(inner[start...]))]
    }
}
