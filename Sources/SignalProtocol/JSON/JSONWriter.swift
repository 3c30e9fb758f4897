import CallVocabulary

/// Writes JSON to the end of a byte buffer, without white space. Commas are set as needed.
///
/// ```swift
/// let body = JSONWriter.bytes { json in
///     json.object { json in
///         json.field("uuid", call)
///         json.field("name", name)          // left out when nil
///         json.field("aps") { $0.object { _ in } }
///     }
/// }
/// ```
///
/// It checks no grammar beyond that: inside an object each value follows a ``key(_:)-(StaticString)``, or is written by
/// a `field`.
public struct JSONWriter {
    private var buffer: [UInt8] = []
    private var needsComma = false

    private init() {}

    /// Appends what `write` writes to `buffer`, growing it in place.
    public static func append(to buffer: inout [UInt8], _ write: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        swap(&writer.buffer, &buffer)
        write(&writer)
        swap(&writer.buffer, &buffer)
    }

    /// What `write` writes, as a buffer of its own.
    /// - Parameter capacity: bytes to make room for beforehand.
    public static func bytes(reserving capacity: Int = 0, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(capacity)
        append(to: &bytes, write)
        return bytes
    }

    /// How many bytes the buffer holds, those included that were in it before.
    public var count: Int { buffer.count }

    // MARK: Values

    /// `{…}` with the members that `members` writes.
    @inline(__always)
    public mutating func object(_ members: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        members(&self)
        close(UInt8(ascii: "}"))
    }

    /// `[…]` with the values that `elements` writes.
    @inline(__always)
    public mutating func array(_ elements: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "["))
        elements(&self)
        close(UInt8(ascii: "]"))
    }

    /// A string, with what JSON must escape escaped and everything else as UTF-8.
    public mutating func string(_ text: String) {
        separate()
        var text = text
        text.withUTF8 { quote(UnsafeRawBufferPointer($0)) }
    }

    /// A string that is known to need no escapes: a name of the protocol.
    public mutating func string(_ name: StaticString) {
        separate()
        buffer.append(UInt8(ascii: "\""))
        append(name)
        buffer.append(UInt8(ascii: "\""))
    }

    /// A UUID as a string in lower case.
    public mutating func string<Subject>(_ id: Identifier<Subject>) {
        separate()
        withUnsafeTemporaryAllocation(byteCount: 38, alignment: 1) { text in
            text[0] = UInt8(ascii: "\"")
            id.write(into: UnsafeMutableRawBufferPointer(rebasing: text[1..<37]))
            text[37] = UInt8(ascii: "\"")
            buffer.append(contentsOf: text)
        }
    }

    /// A whole number of up to 64 bits.
    public mutating func integer(_ value: some FixedWidthInteger) {
        digits(UInt64(value.magnitude), isNegative: value < 0)
    }

    public mutating func bool(_ value: Bool) {
        separate()
        append(value ? "true" : "false")
    }

    public mutating func null() {
        separate()
        append("null")
    }

    /// A value as it came, byte for byte.
    public mutating func raw(_ json: RawJSON) {
        separate()
        buffer.append(contentsOf: json.bytes)
    }

    // MARK: Members

    /// The name of a member, known to need no escapes; its value is written next.
    public mutating func key(_ name: StaticString) {
        string(name)
        buffer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// The name of a member; its value is written next.
    public mutating func key(_ name: String) {
        string(name)
        buffer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A member whose value `value` writes.
    @inline(__always)
    public mutating func field(_ name: StaticString, _ value: (inout JSONWriter) -> Void) {
        key(name)
        value(&self)
    }

    /// A member, left out when nil.
    public mutating func field(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// A member, left out when nil.
    public mutating func field<Subject>(_ name: StaticString, _ value: Identifier<Subject>?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// A member, left out when nil.
    public mutating func field(_ name: StaticString, _ value: (some FixedWidthInteger)?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    /// A member, left out when nil.
    public mutating func field(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    /// A member as it came, left out when nil.
    public mutating func field(_ name: StaticString, _ value: RawJSON?) {
        guard let value else { return }
        key(name)
        raw(value)
    }

    /// A time in milliseconds of the server's clock, left out when nil.
    public mutating func field(_ name: StaticString, _ value: Instant?) {
        field(name, value?.milliseconds)
    }

    // MARK: Bytes

    private mutating func open(_ bracket: UInt8) {
        separate()
        buffer.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        buffer.append(bracket)
        needsComma = true
    }

    @inline(__always)
    private mutating func separate() {
        if needsComma { buffer.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { buffer.append(contentsOf: $0) }
    }

    private mutating func quote(_ utf8: UnsafeRawBufferPointer) {
        buffer.append(UInt8(ascii: "\""))
        defer { buffer.append(UInt8(ascii: "\"")) }
        guard let base = utf8.baseAddress else { return }
        var start = 0
        while true {
            let end = ByteScan.endOfUnescaped(base, from: start, to: utf8.count)
            buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: utf8[start..<end]))
            guard end < utf8.count else { return }
            escape(utf8[end])
            start = end + 1
        }
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case UInt8(ascii: "\n"): append("\\n")
        case UInt8(ascii: "\r"): append("\\r")
        case UInt8(ascii: "\t"): append("\\t")
        default:
            append("\\u00")
            for nibble in [byte >> 4, byte & 15] {
                buffer.append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
            }
        }
    }

    private mutating func digits(_ magnitude: UInt64, isNegative: Bool) {
        separate()
        if isNegative { buffer.append(UInt8(ascii: "-")) }
        // 2^64 - 1 has 20 digits.
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { text in
            var rest = magnitude
            var first = 20
            repeat {
                first -= 1
                text[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            buffer.append(contentsOf: UnsafeMutableRawBufferPointer(rebasing: text[first...]))
        }
    }
}
