import CallVocabulary

/// Goes through JSON once, from front to back, and hands out values as they stand in the buffer.
///
/// It is strict (RFC 8259): UTF-8 is checked everywhere, also in what is skipped; escaped surrogates come in pairs; no
/// byte order mark; nesting is bounded. Nothing is allocated. Of a member that comes twice the caller sees both, in
/// order; in this protocol the last one counts.
///
/// The buffer must stay valid for as long as the scanner and the values it gave are in use.
public struct JSONScanner {
    /// How deep arrays and objects may be nested. One word holds a bit for each level.
    public static let maximumDepth = 64

    @usableFromInline let buffer: UnsafeRawBufferPointer
    @usableFromInline let base: UnsafeRawPointer
    @usableFromInline let end: Int
    @usableFromInline var position = 0
    /// Of the containers entered and not yet left.
    @usableFromInline var depth = 0
    /// Inside a container of which nothing was read yet: no comma is due.
    @usableFromInline var isAtStart = false
    /// Where the name read last ends; the colon may stand apart from it.
    @usableFromInline var keyEnd = 0

    @inlinable
    public init(_ buffer: UnsafeRawBufferPointer) {
        self.buffer = buffer
        end = buffer.count
        // An empty buffer may have no address. Then `end` is 0 and `base` is never read. Of all bit patterns only 0
        // gives nil.
        base = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
    }

    // MARK: Whole documents

    /// Checks that the buffer holds exactly one value, of any kind.
    public static func document(_ buffer: UnsafeRawBufferPointer) throws(JSONSyntaxError) -> JSONValue {
        var scanner = JSONScanner(buffer)
        let value = try scanner.value()
        try scanner.finish()
        return value
    }

    /// Checks that nothing but white space is left.
    @inlinable
    public mutating func finish() throws(JSONSyntaxError) {
        skipWhiteSpace()
        guard position == end else { throw error(.trailingBytes) }
    }

    // MARK: Values

    /// Whether an object comes next, to be entered.
    @inlinable
    public mutating func isAtObject() -> Bool {
        skipWhiteSpace()
        return position < end && byte(position) == UInt8(ascii: "{")
    }

    /// Checks the next value and goes past it.
    @inlinable
    public mutating func value() throws(JSONSyntaxError) -> JSONValue {
        skipWhiteSpace()
        guard position < end else { throw error(.unexpectedEnd) }
        isAtStart = false
        let start = position
        var hasEscapes = false
        let kind: JSONValue.Kind
        switch byte(start) {
        case UInt8(ascii: "\""):
            hasEscapes = try skipString()
            kind = .string
        case UInt8(ascii: "{"):
            try skipContainer()
            kind = .object
        case UInt8(ascii: "["):
            try skipContainer()
            kind = .array
        default:
            kind = try skipScalar()
        }
        let bytes = UnsafeRawBufferPointer(start: base + start, count: position - start)
        return JSONValue(kind: kind, hasEscapes: hasEscapes, bytes: bytes)
    }

    /// Goes into the object that comes next; ``nextKey()`` leads through it and out of it.
    @inlinable
    public mutating func enterObject() throws(JSONSyntaxError) { try enter(UInt8(ascii: "{")) }

    /// Goes into the array that comes next; ``nextElement()`` leads through it and out of it.
    @inlinable
    public mutating func enterArray() throws(JSONSyntaxError) { try enter(UInt8(ascii: "[")) }

    /// The next member's name, whose value comes next; nil, and out of the object, when there is none left.
    @inlinable
    public mutating func nextKey() throws(JSONSyntaxError) -> JSONValue? {
        guard try hasNext(before: UInt8(ascii: "}")) else { return nil }
        let start = position
        let hasEscapes = try skipKey()
        let stop = keyEnd
        return JSONValue(
            kind: .string, hasEscapes: hasEscapes,
            bytes: UnsafeRawBufferPointer(start: base + start, count: stop - start))
    }

    /// Whether another element comes; if not, the scanner is out of the array.
    @inlinable
    public mutating func nextElement() throws(JSONSyntaxError) -> Bool {
        try hasNext(before: UInt8(ascii: "]"))
    }

    /// The next element of an array that has been checked as a ``JSONValue``; enters it at the first call.
    @usableFromInline
    mutating func nextCheckedElement() -> JSONValue? {
        do {
            if position == 0 { try enterArray() }
            return try nextElement() ? value() : nil
        } catch {
            // The same bytes went through the same checks before, as part of a deeper nesting.
            preconditionFailure("a JSONValue is well-formed: \(error)")
        }
    }

    // MARK: Structure

    @inlinable
    mutating func enter(_ bracket: UInt8) throws(JSONSyntaxError) {
        skipWhiteSpace()
        guard position < end else { throw error(.unexpectedEnd) }
        guard byte(position) == bracket else { throw error(.unexpectedByte) }
        guard depth < Self.maximumDepth else { throw error(.tooDeep) }
        position += 1
        depth += 1
        isAtStart = true
    }

    @inlinable
    mutating func hasNext(before bracket: UInt8) throws(JSONSyntaxError) -> Bool {
        skipWhiteSpace()
        guard position < end else { throw error(.unexpectedEnd) }
        if byte(position) == bracket {
            position += 1
            depth -= 1
            isAtStart = false
            return false
        }
        if isAtStart {
            isAtStart = false
            return true
        }
        guard byte(position) == UInt8(ascii: ",") else { throw error(.unexpectedByte) }
        position += 1
        skipWhiteSpace()
        guard position < end else { throw error(.unexpectedEnd) }
        return true
    }

    /// A string and the colon behind it.
    @inlinable
    mutating func skipKey() throws(JSONSyntaxError) -> Bool {
        guard position < end else { throw error(.unexpectedEnd) }
        guard byte(position) == UInt8(ascii: "\"") else { throw error(.unexpectedByte) }
        let hasEscapes = try skipString()
        keyEnd = position
        skipWhiteSpace()
        guard position < end else { throw error(.unexpectedEnd) }
        guard byte(position) == UInt8(ascii: ":") else { throw error(.unexpectedByte) }
        position += 1
        return hasEscapes
    }

    /// An array or object with all that is in it, without recursion.
    @usableFromInline
    mutating func skipContainer() throws(JSONSyntaxError) {
        // The lowest bit stands for the innermost container: 1 for an object.
        var kinds: UInt64 = 0
        var level = 0
        while true {
            skipWhiteSpace()
            guard position < end else { throw error(.unexpectedEnd) }
            let first = byte(position)
            if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
                guard depth + level < Self.maximumDepth else { throw error(.tooDeep) }
                level += 1
                kinds = kinds << 1 | (first == UInt8(ascii: "{") ? 1 : 0)
                position += 1
                skipWhiteSpace()
                // In ASCII a closing bracket is two above its opening one.
                if position < end, byte(position) == first + 2 {
                    position += 1
                    level -= 1
                    kinds >>= 1
                } else {
                    if first == UInt8(ascii: "{") { _ = try skipKey() }
                    continue
                }
            } else if first == UInt8(ascii: "\"") {
                _ = try skipString()
            } else {
                _ = try skipScalar()
            }
            guard try leave(&level, &kinds) else { return }
        }
    }

    /// Goes behind a value to the next one of the same container or of those around it.
    /// - Returns: false when the outermost container ended.
    private mutating func leave(_ level: inout Int, _ kinds: inout UInt64) throws(JSONSyntaxError) -> Bool {
        while level > 0 {
            skipWhiteSpace()
            guard position < end else { throw error(.unexpectedEnd) }
            let isObject = kinds & 1 == 1
            let next = byte(position)
            if next == UInt8(ascii: ",") {
                position += 1
                if isObject {
                    skipWhiteSpace()
                    _ = try skipKey()
                }
                return true
            }
            guard next == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw error(.unexpectedByte) }
            position += 1
            level -= 1
            kinds >>= 1
        }
        return false
    }

    // MARK: Scalars

    @inlinable
    @inline(__always)
    func byte(_ index: Int) -> UInt8 { base.load(fromByteOffset: index, as: UInt8.self) }

    @inlinable
    func error(_ reason: JSONSyntaxError.Reason) -> JSONSyntaxError { JSONSyntaxError(reason, at: position) }

    @inlinable
    @inline(__always)
    mutating func skipWhiteSpace() {
        while position < end {
            switch byte(position) {
            case 0x20, 0x0A, 0x0D, 0x09: position &+= 1
            default: return
            }
        }
    }

    /// A number, or one of the three words.
    @usableFromInline
    mutating func skipScalar() throws(JSONSyntaxError) -> JSONValue.Kind {
        switch byte(position) {
        case UInt8(ascii: "t"):
            try skipWord("true")
            return .bool
        case UInt8(ascii: "f"):
            try skipWord("false")
            return .bool
        case UInt8(ascii: "n"):
            try skipWord("null")
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try skipNumber()
        default:
            throw error(.unexpectedByte)
        }
    }

    private mutating func skipWord(_ word: StaticString) throws(JSONSyntaxError) {
        for index in 0..<word.utf8CodeUnitCount {
            guard position < end else { throw error(.unexpectedEnd) }
            guard byte(position) == word.utf8Start[index] else { throw error(.unexpectedByte) }
            position += 1
        }
    }

    private mutating func skipNumber() throws(JSONSyntaxError) -> JSONValue.Kind {
        if byte(position) == UInt8(ascii: "-") { position += 1 }
        if position < end, byte(position) == UInt8(ascii: "0") {
            position += 1
        } else {
            try skipDigits()
        }
        var kind = JSONValue.Kind.integer
        if position < end, byte(position) == UInt8(ascii: ".") {
            kind = .fraction
            position += 1
            try skipDigits()
        }
        if position < end, byte(position) | 0x20 == UInt8(ascii: "e") {
            kind = .fraction
            position += 1
            if position < end, byte(position) == UInt8(ascii: "+") || byte(position) == UInt8(ascii: "-") {
                position += 1
            }
            try skipDigits()
        }
        // "01" and "1x" would otherwise be reported as something that follows.
        if position < end, Self.isWordCharacter(byte(position)) { throw error(.malformedNumber) }
        return kind
    }

    /// One digit or more.
    private mutating func skipDigits() throws(JSONSyntaxError) {
        let start = position
        while position < end, byte(position) &- UInt8(ascii: "0") < 10 { position &+= 1 }
        if position == start { throw error(position == end ? .unexpectedEnd : .malformedNumber) }
    }

    private static func isWordCharacter(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10 || (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte == UInt8(ascii: ".")
    }

    // MARK: Strings

    /// - Returns: whether there are escapes in it.
    @inlinable
    @inline(__always)
    mutating func skipString() throws(JSONSyntaxError) -> Bool {
        var hasEscapes = false
        var index = position &+ 1
        while true {
            index = ByteScan.endOfPlainASCII(base, from: index, to: end)
            guard index < end else {
                position = index
                throw error(.unexpectedEnd)
            }
            let next = byte(index)
            if next == UInt8(ascii: "\"") {
                position = index &+ 1
                return hasEscapes
            }
            if next == UInt8(ascii: "\\") {
                hasEscapes = true
                position = index
                // The ends of an SDP's lines are two in a row.
                while index &+ 1 < end, byte(index) == UInt8(ascii: "\\"), Self.isOneLetterEscape(byte(index &+ 1)) {
                    index &+= 2
                }
                if index > position { continue }
                try skipEscape()
            } else {
                position = index
                guard next >= 0x20 else { throw error(.controlCharacter) }
                try skipMultibyte()
            }
            index = position
        }
    }

    /// Whether a backslash and this letter are a whole escape.
    @inlinable
    @inline(__always)
    static func isOneLetterEscape(_ letter: UInt8) -> Bool {
        // One bit for each of `"/\bfnrt`, counted from the lowest of them.
        let place = letter &- UInt8(ascii: "\"")
        let low: UInt64 = 1 | 1 << 13 | 1 << 58
        let high: UInt64 = 1 | 1 << 4 | 1 << 12 | 1 << 16 | 1 << 18
        return place < 64 ? low >> place & 1 == 1 : place < 128 && high >> (place &- 64) & 1 == 1
    }

    @usableFromInline
    mutating func skipEscape() throws(JSONSyntaxError) {
        guard position + 1 < end else {
            position = end
            throw error(.unexpectedEnd)
        }
        switch byte(position + 1) {
        case let letter where Self.isOneLetterEscape(letter):
            position += 2
        case UInt8(ascii: "u"):
            guard let unit = JSONEscapes.hex(buffer, at: position + 2) else { throw error(.malformedEscape) }
            if JSONEscapes.isLowSurrogate(unit) { throw error(.loneSurrogate) }
            guard JSONEscapes.isHighSurrogate(unit) else {
                position += 6
                return
            }
            guard position + 7 < end, byte(position + 6) == UInt8(ascii: "\\"),
                byte(position + 7) == UInt8(ascii: "u"), let low = JSONEscapes.hex(buffer, at: position + 8),
                JSONEscapes.isLowSurrogate(low)
            else { throw error(.loneSurrogate) }
            position += 12
        default:
            throw error(.malformedEscape)
        }
    }

    /// One well-formed UTF-8 sequence of two to four bytes (RFC 3629, section 4): no overlong forms, no surrogates,
    /// nothing above U+10FFFF.
    @usableFromInline
    mutating func skipMultibyte() throws(JSONSyntaxError) {
        let lead = byte(position)
        // The second byte alone has bounds that depend on the first.
        let second: ClosedRange<UInt8>
        let length: Int
        switch lead {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw error(.invalidUTF8)
        }
        guard position + length <= end, second.contains(byte(position + 1)) else { throw error(.invalidUTF8) }
        for index in 2..<max(2, length) where byte(position + index) & 0xC0 != 0x80 { throw error(.invalidUTF8) }
        position += length
    }
}

@available(*, unavailable)
extension JSONScanner: Sendable {}
