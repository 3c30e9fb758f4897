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
public struct JSONWriter: ~Copyable {
    /// Bytes of the stack that are written to first: nearly all frames fit. More would not come from the stack.
    @usableFromInline
    static let usualRoom = 1024

    /// What is being written to: the stack's, or on the heap once that was too small.
    // Proof for the pointer: only `append(to:_:)` makes a writer, lends it out for the time of its call, and no copy of it
    // can be made.
    @usableFromInline
    var room: UnsafeMutableRawBufferPointer
    @usableFromInline var isOnHeap = false
    /// How much of ``room`` is written.
    @usableFromInline
    var used = 0
    /// What the caller's buffer held before.
    @usableFromInline
    let before: Int
    @usableFromInline
    var needsComma = false

    @inlinable
    init(room: UnsafeMutableRawBufferPointer, before: Int) {
        self.room = room
        self.before = before
    }

    /// Appends what `write` writes to `buffer`, growing it in place.
    @inlinable
    public static func append(to buffer: inout [UInt8], _ write: (inout JSONWriter) -> Void) {
        withUnsafeTemporaryAllocation(byteCount: usualRoom, alignment: 16) { room in
            var writer = JSONWriter(room: room, before: buffer.count)
            write(&writer)
            buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: writer.room[..<writer.used]))
        }
    }

    @inlinable
    deinit {
        if isOnHeap { room.deallocate() }
    }

    /// What `write` writes, as a buffer of its own.
    @inlinable
    public static func bytes(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes, write)
        return bytes
    }

    /// How many bytes the buffer holds, those included that were in it before.
    @inlinable
    public var count: Int { before + used }

    // MARK: Values

    /// `{…}` with the members that `members` writes.
    @inlinable
    @inline(__always)
    public mutating func object(_ members: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        members(&self)
        close(UInt8(ascii: "}"))
    }

    /// `[…]` with the values that `elements` writes.
    @inlinable
    @inline(__always)
    public mutating func array(_ elements: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "["))
        elements(&self)
        close(UInt8(ascii: "]"))
    }

    /// A string, with what JSON must escape escaped and everything else as UTF-8.
    @inlinable
    public mutating func string(_ text: String) {
        separate()
        var text = text
        text.withUTF8 { quote(UnsafeRawBufferPointer($0)) }
    }

    /// A string that is known to need no escapes: a name of the protocol.
    @inlinable
    public mutating func string(_ name: StaticString) {
        separate()
        name.withUTF8Buffer { name in
            makeRoom(name.count + 2)
            put(UInt8(ascii: "\""))
            put(UnsafeRawBufferPointer(name))
            put(UInt8(ascii: "\""))
        }
    }

    /// A UUID as a string in lower case.
    @inlinable
    public mutating func string<Subject>(_ id: Identifier<Subject>) {
        separate()
        makeRoom(38)
        put(UInt8(ascii: "\""))
        id.write(into: UnsafeMutableRawBufferPointer(rebasing: room[used...]))
        used += 36
        put(UInt8(ascii: "\""))
    }

    /// A whole number of up to 64 bits.
    @inlinable
    public mutating func integer(_ value: some FixedWidthInteger) {
        digits(UInt64(value.magnitude), isNegative: value < 0)
    }

    @inlinable
    public mutating func bool(_ value: Bool) {
        separate()
        append(value ? "true" : "false")
    }

    @inlinable
    public mutating func null() {
        separate()
        append("null")
    }

    /// A value as it came, byte for byte.
    @inlinable
    public mutating func raw(_ json: RawJSON) {
        json.bytes.withUnsafeBytes { raw($0) }
    }

    /// A value as it came, byte for byte.
    @inlinable
    package mutating func raw(_ json: UnsafeRawBufferPointer) {
        separate()
        append(json)
    }

    // MARK: Members

    /// The name of a member, known to need no escapes; its value is written next.
    @inlinable
    public mutating func key(_ name: StaticString) {
        name.withUTF8Buffer { name in
            makeRoom(name.count + 4)
            if needsComma { put(UInt8(ascii: ",")) }
            put(UInt8(ascii: "\""))
            put(UnsafeRawBufferPointer(name))
            put(UInt8(ascii: "\""))
            put(UInt8(ascii: ":"))
        }
        needsComma = false
    }

    /// The name of a member; its value is written next.
    @inlinable
    public mutating func key(_ name: String) {
        string(name)
        append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A member whose value `value` writes.
    @inlinable
    @inline(__always)
    public mutating func field(_ name: StaticString, _ value: (inout JSONWriter) -> Void) {
        key(name)
        value(&self)
    }

    /// A member, left out when nil.
    @inlinable
    public mutating func field(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// A member, left out when nil.
    @inlinable
    public mutating func field<Subject>(_ name: StaticString, _ value: Identifier<Subject>?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// A member, left out when nil.
    @inlinable
    public mutating func field(_ name: StaticString, _ value: (some FixedWidthInteger)?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    /// A member, left out when nil.
    @inlinable
    public mutating func field(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    /// A member as it came, left out when nil.
    @inlinable
    public mutating func field(_ name: StaticString, _ value: RawJSON?) {
        guard let value else { return }
        key(name)
        raw(value)
    }

    /// A time in milliseconds of the server's clock, left out when nil.
    @inlinable
    public mutating func field(_ name: StaticString, _ value: Instant?) {
        field(name, value?.milliseconds)
    }

    // MARK: Bytes

    @inlinable
    mutating func open(_ bracket: UInt8) {
        separate()
        append(bracket)
        needsComma = false
    }

    @inlinable
    mutating func close(_ bracket: UInt8) {
        append(bracket)
        needsComma = true
    }

    @inlinable
    @inline(__always)
    mutating func separate() {
        if needsComma { append(UInt8(ascii: ",")) }
        needsComma = true
    }

    @inlinable
    @inline(__always)
    mutating func append(_ byte: UInt8) {
        makeRoom(1)
        put(byte)
    }

    @inlinable
    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) }
    }

    @inlinable
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        makeRoom(bytes.count)
        put(bytes)
    }

    /// Makes sure that so many bytes can be put.
    @inlinable
    @inline(__always)
    mutating func makeRoom(_ count: Int) {
        if room.count - used < count { grow(by: count) }
    }

    @usableFromInline
    @inline(never)
    mutating func grow(by count: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * (used + count), alignment: 16)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: room[..<used]))
        if isOnHeap { room.deallocate() }
        room = larger
        isOnHeap = true
    }

    /// There is room for it.
    @inlinable
    @inline(__always)
    mutating func put(_ byte: UInt8) {
        room[used] = byte
        used += 1
    }

    /// There is room for them.
    @inlinable
    @inline(__always)
    mutating func put(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: room[used...]).copyMemory(from: bytes)
        used += bytes.count
    }

    @inlinable
    mutating func quote(_ utf8: UnsafeRawBufferPointer) {
        // Room for the text, unless it has escapes.
        makeRoom(utf8.count + 2)
        put(UInt8(ascii: "\""))
        if let base = utf8.baseAddress {
            var start = 0
            while true {
                let end = ByteScan.endOfUnescaped(base, from: start, to: utf8.count)
                append(UnsafeRawBufferPointer(rebasing: utf8[start..<end]))
                guard end < utf8.count else { break }
                escape(utf8[end])
                start = end + 1
            }
        }
        append(UInt8(ascii: "\""))
    }

    @usableFromInline
    mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case UInt8(ascii: "\n"): append("\\n")
        case UInt8(ascii: "\r"): append("\\r")
        case UInt8(ascii: "\t"): append("\\t")
        default:
            append("\\u00")
            for nibble in [byte >> 4, byte & 15] {
                append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
            }
        }
    }

    @inlinable
    mutating func digits(_ magnitude: UInt64, isNegative: Bool) {
        separate()
        // 2^64 - 1 has 20 digits.
        makeRoom(21)
        if isNegative { put(UInt8(ascii: "-")) }
        var end = used + 1
        var bound: UInt64 = 10
        while end - used < 20, magnitude >= bound {
            end += 1
            bound &*= 10
        }
        var rest = magnitude
        for place in (used..<end).reversed() {
            room[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        used = end
    }
}
