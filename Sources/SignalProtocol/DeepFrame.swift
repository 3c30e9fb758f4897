import CallVocabulary
import WireJSON

/// Finds the id and the offending member of a frame that is nested deeper than ``JSONScanner/maximumDepth``.
///
/// The scanner stops at that depth. This parses only the frame's outline, its brackets and strings, and validates
/// nothing else.
struct DeepFrame {
    private struct Member {
        /// Compared byte for byte: it may have any length.
        let name: JSONValue
        let value: UnsafeRawBufferPointer
        /// The nesting depth of its value.
        let depth: Int
    }

    private let members: [Member]

    init(_ frame: UnsafeRawBufferPointer) { members = Self.members(of: frame) }

    /// The error to answer with.
    var failure: DecodingFailure {
        var error = Self.error(path)
        error.call = callOfCandidates
        return DecodingFailure(id: requestID, error)
    }

    static func error(_ path: String) -> SignalError {
        SignalError(
            .tooLarge(limit: JSONScanner.maximumDepth),
            "\(path): nested too deep; at most \(JSONScanner.maximumDepth) arrays and objects are taken inside one "
                + "another, the frame's own included")
    }

    private var requestID: RequestID? {
        var envelope = Envelope()
        envelope.id = Self.value("id", of: members)
        return envelope.requestID
    }

    /// The call of refused candidates; nil for another method.
    private var callOfCandidates: CallID? {
        guard let method = Self.value("method", of: members), "call.candidates" ~= method,
            let params = members.last(where: { "params" ~= $0.name })
        else { return nil }
        return Self.value("call_id", of: Self.members(of: params.value))?.identifier()
    }

    /// A value that is no array or object. The last of duplicate members counts.
    private static func value(_ name: StaticString, of members: [Member]) -> JSONValue? {
        guard let member = members.last(where: { name ~= $0.name }), member.depth == 0 else { return nil }
        return try? JSONScanner.document(member.value)
    }

    private var path: String {
        // The frame itself is one level.
        guard let deep = members.first(where: { $0.depth >= JSONScanner.maximumDepth }) else { return "frame" }
        let inner =
            "params" ~= deep.name
            ? Self.members(of: deep.value).first { $0.depth >= JSONScanner.maximumDepth - 1 } : nil
        let name = Self.shown(deep.name)
        return inner.map { "\(name).\(Self.shown($0.name))" } ?? name
    }

    private static func shown(_ name: JSONValue) -> String { (name.longString ?? "").shortened(to: 64) }

    /// The members of the object at the start of the bytes, as far as they can be parsed.
    private static func members(of bytes: UnsafeRawBufferPointer) -> [Member] {
        var outline = Outline(bytes)
        guard outline.take(UInt8(ascii: "{")) else { return [] }
        var members: [Member] = []
        while let name = outline.string(), outline.take(UInt8(ascii: ":")) {
            let (value, depth) = outline.value()
            guard let text = try? JSONScanner.document(name) else { break }
            members.append(Member(name: text, value: value, depth: depth))
            guard outline.take(UInt8(ascii: ",")) else { break }
        }
        return members
    }

    /// Scans bytes by strings and brackets.
    private struct Outline {
        private let bytes: UnsafeRawBufferPointer
        private var position = 0

        init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        private mutating func skipWhiteSpace() {
            while position < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[position]) { position += 1 }
        }

        mutating func take(_ byte: UInt8) -> Bool {
            skipWhiteSpace()
            guard position < bytes.count, bytes[position] == byte else { return false }
            position += 1
            return true
        }

        /// Reads a string with its quotation marks; nil when none follows.
        mutating func string() -> UnsafeRawBufferPointer? {
            let start = position
            guard take(UInt8(ascii: "\"")) else { return nil }
            let first = position - 1
            while position < bytes.count {
                let byte = bytes[position]
                position += byte == UInt8(ascii: "\\") ? 2 : 1
                if byte == UInt8(ascii: "\"") {
                    return UnsafeRawBufferPointer(rebasing: bytes[first..<position])
                }
            }
            position = start
            return nil
        }

        /// Reads a value up to the comma or bracket after it.
        mutating func value() -> (bytes: UnsafeRawBufferPointer, depth: Int) {
            skipWhiteSpace()
            let start = position
            var (level, deepest) = (0, 0)
            scan: while position < bytes.count {
                switch bytes[position] {
                case UInt8(ascii: "\""):
                    guard string() != nil else { break scan }
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    level += 1
                    deepest = max(deepest, level)
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    guard level > 0 else { break scan }
                    level -= 1
                case UInt8(ascii: ","): if level == 0 { break scan }
                default: break
                }
                position += 1
            }
            var end = position
            while end > start, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[end - 1]) { end -= 1 }
            return (UnsafeRawBufferPointer(rebasing: bytes[start..<end]), deepest)
        }
    }
}
