/// Why bytes are not JSON (RFC 8259), and where.
public struct JSONSyntaxError: Error, Equatable, Sendable {
    public enum Reason: Equatable, Sendable {
        case unexpectedEnd
        case unexpectedByte
        case trailingBytes
        case malformedNumber
        case malformedEscape
        /// A `\u` escape of one half of a surrogate pair: it stands for no character.
        case loneSurrogate
        case controlCharacter
        case invalidUTF8
        case tooDeep
    }

    public let reason: Reason
    /// Counted in bytes from the start of what was scanned.
    public let offset: Int

    @inlinable
    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONSyntaxError: CustomStringConvertible {
    /// Fits behind "not valid JSON: ".
    public var description: String {
        let what =
            switch reason {
            case .unexpectedEnd: "it ends in the middle of a value"
            case .unexpectedByte: "unexpected character"
            case .trailingBytes: "something follows the value"
            case .malformedNumber: "malformed number"
            case .malformedEscape: "malformed escape in a string"
            case .loneSurrogate: "escaped surrogate without its other half"
            case .controlCharacter: "unescaped control character in a string"
            case .invalidUTF8: "invalid UTF-8"
            case .tooDeep: "nested more than \(JSONScanner.maximumDepth) deep"
            }
        return "\(what) at byte \(offset)"
    }
}
