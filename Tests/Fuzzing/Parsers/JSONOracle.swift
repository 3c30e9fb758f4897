import Foundation
import WireJSON

/// Compares the scanner with `JSONSerialization`: the documents that they accept, and their values.
public enum JSONOracle {
    public static func accepts(_ bytes: [UInt8]) -> Bool { error(of: bytes) == nil }

    public static func error(of bytes: [UInt8]) -> JSONSyntaxError? {
        bytes.withUnsafeBytes { buffer in
            do throws(JSONSyntaxError) {
                _ = try JSONScanner.document(buffer)
                return nil
            } catch {
                return error
            }
        }
    }

    /// nil when both agree.
    public static func disagreement(on bytes: [UInt8]) -> String? {
        let ours = error(of: bytes)
        if isOtherEncoding(bytes) {
            return ours == nil ? "\(bytes) is not plain UTF-8 and taken here" : nil
        }
        let theirs = Result { try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed) }
        let shown = "\(String(decoding: bytes, as: UTF8.self).debugDescription) = \(bytes)"
        switch (ours, theirs) {
        case (nil, .success(let value)):
            let read = bytes.withUnsafeBytes { buffer in
                (try? JSONScanner.document(buffer)).map { Self.matches($0, value) } ?? false
            }
            return read ? nil : "\(shown) reads as \(value) there and differently here"
        case (let ours?, .success):
            if let stricter = withoutTrailingComma(bytes, ours) { return disagreement(on: stricter) }
            // `JSONSerialization` accepts 512 levels.
            if ours.reason == .tooDeep { return nil }
            return "\(shown) is taken there and refused here: \(ours)"
        case (nil, .failure(let error)):
            if hasNumberOutsideDouble(bytes) { return nil }
            return "\(shown) is refused there and taken here: \(error)"
        case (_?, .failure): return nil
        }
    }

    /// `JSONSerialization` detects UTF-16 and UTF-32 by zero bytes, and accepts byte order marks. The scanner accepts
    /// only UTF-8 without a byte order mark, where no JSON has a zero byte.
    private static func isOtherEncoding(_ bytes: [UInt8]) -> Bool {
        bytes.contains(0) || [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]].contains { bytes.starts(with: $0) }
    }

    /// `JSONSerialization` refuses a number that does not fit a `Double`; the scanner passes numbers of any size
    /// through.
    private static func hasNumberOutsideDouble(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self).split { !"+-.eE0123456789".contains($0) }.contains { word in
            Double(word).map { $0.isInfinite || ($0 == 0 && word.contains { "123456789".contains($0) }) } ?? false
        }
    }

    /// `JSONSerialization` accepts a comma before a closing bracket, RFC 8259 does not. Without it both must agree.
    private static func withoutTrailingComma(_ bytes: [UInt8], _ error: JSONSyntaxError) -> [UInt8]? {
        guard error.reason == .unexpectedByte, "]}".utf8.contains(bytes[error.offset]) else { return nil }
        let before = bytes[..<error.offset].lastIndex { !" \t\r\n".utf8.contains($0) }
        guard let before, bytes[before] == UInt8(ascii: ",") else { return nil }
        var bytes = bytes
        bytes.remove(at: before)
        return bytes
    }

    private static func matches(_ value: JSONValue, _ other: Any) -> Bool {
        switch value.kind {
        case .null: return other is NSNull
        case .bool: return value.bool == other as? Bool
        case .integer:
            let number: Int64? = value.integer()
            return number == nil || number == (other as? NSNumber)?.int64Value
        case .fraction: return other is NSNumber
        case .string: return (value.string?.utf8).map(Array.init) == (other as? String).map { Array($0.utf8) }
        case .array:
            guard let others = other as? [Any] else { return false }
            var index = 0
            var agree = true
            value.forEachElement { element in
                agree = agree && index < others.count && matches(element, others[index])
                index += 1
            }
            return agree && index == others.count
        case .object:
            guard let others = other as? [String: Any] else { return false }
            return matches(members(of: value), others)
        }
    }

    private static func matches(_ members: [String: JSONValue], _ others: [String: Any]) -> Bool {
        guard members.count == others.count else { return false }
        for (name, value) in members {
            guard let other = others[name], matches(value, other) else { return false }
        }
        return true
    }

    /// Of members with one name, the last counts.
    private static func members(of object: JSONValue) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        var scanner = JSONScanner(object.bytes)
        do {
            try scanner.enterObject()
            while let name = try scanner.nextKey() {
                members[name.string ?? ""] = try scanner.value()
            }
        } catch {
            members = [:]
        }
        return members
    }
}
