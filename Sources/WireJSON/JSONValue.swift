import CallVocabulary

/// One JSON value where it stands in a scanned buffer. Nothing is copied until it is read as something.
///
/// Valid for as long as the buffer is. Only ``JSONScanner`` makes one, so its bytes are known to be well-formed.
public struct JSONValue {
    public enum Kind: UInt8, Sendable {
        case null, bool, integer, fraction, string, array, object
    }

    /// `integer` is a number without a fraction and an exponent, `fraction` any other number.
    public let kind: Kind
    @usableFromInline let hasEscapes: Bool
    /// The value's bytes, without white space around it; a string's include the quotation marks.
    public let bytes: UnsafeRawBufferPointer

    @inlinable
    init(kind: Kind, hasEscapes: Bool = false, bytes: UnsafeRawBufferPointer) {
        self.kind = kind
        self.hasEscapes = hasEscapes
        self.bytes = bytes
    }

    /// A copy that can be passed on byte for byte.
    public var raw: RawJSON { RawJSON(bytes: Array(bytes)) }

    @inlinable
    public var isNull: Bool { kind == .null }

    /// nil unless it is `true` or `false`.
    @inlinable
    public var bool: Bool? { kind == .bool ? bytes[0] == UInt8(ascii: "t") : nil }

    /// nil unless it is a whole number of the type's range.
    @inlinable
    public func integer<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
        guard kind == .integer else { return nil }
        let isNegative = bytes[0] == UInt8(ascii: "-")
        var number: Number = 0
        for byte in isNegative ? bytes[1...] : bytes[0...] {
            let digit = Number(truncatingIfNeeded: byte &- UInt8(ascii: "0"))
            let (shifted, overflow) = number.multipliedReportingOverflow(by: 10)
            let (next, carry) =
                isNegative
                ? shifted.subtractingReportingOverflow(digit) : shifted.addingReportingOverflow(digit)
            if overflow || carry { return nil }
            number = next
        }
        return number
    }

    /// A whole number of any size, cut to the range; nil for anything else.
    public func integer<Number: FixedWidthInteger>(clampedTo range: ClosedRange<Number>) -> Number? {
        guard kind == .integer else { return nil }
        guard let number = integer(Number.self) else {
            return bytes[0] == UInt8(ascii: "-") ? range.lowerBound : range.upperBound
        }
        return min(max(number, range.lowerBound), range.upperBound)
    }

    /// The text of a string with its escapes resolved; nil if it is no string, or none to compare (``ForeignText``).
    public var string: String? {
        guard let text = longString, ForeignText.isComparable(text.utf8) else { return nil }
        return text
    }

    /// The text of a string of any length, which must not be compared or hashed; nil if it is no string.
    public var longString: String? {
        guard kind == .string else { return nil }
        let text = content
        guard hasEscapes else { return String(decoding: text, as: UTF8.self) }
        // No escape is shorter than what it stands for.
        return String(unsafeUninitializedCapacity: text.count) { JSONEscapes.resolve(text, into: $0) }
    }

    /// The case whose name is the string, byte for byte; nil if there is none.
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(_ type: Choice.Type = Choice.self) -> Choice? {
        guard kind == .string else { return nil }
        return hasEscapes ? string.flatMap { Choice(utf8: $0.utf8) } : Choice(utf8: content)
    }

    /// A UUID in either case; nil for anything else.
    @inlinable
    public func identifier<Subject>(_ type: Identifier<Subject>.Type = Identifier<Subject>.self) -> Identifier<Subject>?
    {
        guard kind == .string else { return nil }
        return hasEscapes ? string.flatMap { Identifier($0) } : Identifier(utf8: content)
    }

    /// How many bytes a string's text takes in the buffer, escapes unresolved; 0 for anything but a string.
    @inlinable
    public var textCount: Int { kind == .string ? bytes.count - 2 : 0 }

    /// Calls `body` with each element of an array in order, and not at all for anything else.
    @inlinable
    public func forEachElement<Failure: Error>(_ body: (JSONValue) throws(Failure) -> Void) throws(Failure) {
        guard kind == .array else { return }
        var scanner = JSONScanner(bytes)
        while let element = scanner.nextCheckedElement() { try body(element) }
    }

    /// A string's bytes between the quotation marks.
    @usableFromInline
    var content: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[1..<bytes.count - 1])
    }
}

@available(*, unavailable)
extension JSONValue: Sendable {}

/// So that `switch` can tell the names of members apart without making a `String` of them.
@inlinable
public func ~= (name: StaticString, value: JSONValue) -> Bool {
    guard value.kind == .string else { return false }
    let count = name.utf8CodeUnitCount
    if value.hasEscapes {
        // The longest escape, `\u` and four digits, stands for one byte at least.
        guard value.textCount <= 6 * count, let text = value.longString else { return false }
        return name.withUTF8Buffer { text.utf8.elementsEqual($0) }
    }
    guard value.bytes.count == count + 2 else { return false }
    guard count > 0, let text = value.bytes.baseAddress else { return count == 0 }
    return name.withUTF8Buffer { expected in
        guard let expected = expected.baseAddress else { return false }
        return ByteScan.isEqual(expected, text + 1, count: count)
    }
}
