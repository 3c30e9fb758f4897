/// The members of one object, to be asked for by name.
///
/// Of a member that comes twice the last one counts; `null` counts as left out. Allocates nothing for an object of the
/// usual size.
package struct JSONObject {
    /// No name of the protocol is longer, so longer ones are not kept.
    private static let longestName = 16
    /// The longest escape, `\u` and four digits, stands for one byte at least.
    private static let longestEscapedName = 6 * longestName
    /// Most objects have no more members.
    private static let usualCount = 8

    /// Where a member stands, from ``base`` on.
    private struct Member {
        var name: UInt32 = 0
        var value: UInt32 = 0
        var valueCount: UInt32 = 0
        /// With the quotation marks, as that of the value.
        var nameCount: UInt8 = 0
        /// The length of the name itself; less, if it has escapes.
        var textCount: UInt8 = 0
        var kind = JSONValue.Kind.null
        var valueHasEscapes = false

        var nameHasEscapes: Bool { textCount + 2 < nameCount }
    }

    /// Where the buffer begins in which the object stands; nil when it has no members.
    private var base: UnsafeRawPointer?
    private var count = 0
    /// `InlineArray` is not on older phones.
    private var members = (
        Member(), Member(), Member(), Member(), Member(), Member(), Member(), Member()
    )
    /// Behind those, if there are more.
    private var rest: [Member] = []

    package init() {}

    /// Enters the object that comes next and goes past it.
    package init(from scanner: inout JSONScanner) throws(JSONSyntaxError) {
        base = scanner.base
        try scanner.enterObject()
        while let name = try scanner.nextKey() {
            let value = try scanner.value()
            guard let textCount = Self.textCount(of: name) else { continue }
            append(Self.member(name, textCount, value, from: scanner.base))
        }
    }

    /// The length of a name without its escapes: most names are told apart by it, and none is resolved for each look-up.
    /// - Returns: nil for a name that is longer than any of the protocol.
    private static func textCount(of name: JSONValue) -> UInt8? {
        guard name.textCount <= (name.hasEscapes ? longestEscapedName : longestName) else { return nil }
        let count = name.hasEscapes ? name.longString?.utf8.count ?? 0 : name.textCount
        return count <= longestName ? UInt8(count) : nil
    }

    /// - Parameter value: an object.
    package init(_ value: JSONValue) {
        var scanner = JSONScanner(value.bytes)
        do {
            try self.init(from: &scanner)
        } catch {
            // The same bytes went through the same checks before, as part of a deeper nesting.
            preconditionFailure("a JSONValue is well-formed: \(error)")
        }
    }

    /// nil when it is missing or `null`.
    package subscript(_ name: StaticString) -> JSONValue? {
        guard let base, let member = member(name, base), member.kind != .null else { return nil }
        return JSONValue(
            kind: member.kind, hasEscapes: member.valueHasEscapes,
            bytes: UnsafeRawBufferPointer(start: base + Int(member.value), count: Int(member.valueCount)))
    }

    /// The last member of that name.
    private func member(_ name: StaticString, _ base: UnsafeRawPointer) -> Member? {
        let textCount = name.utf8CodeUnitCount
        func isNamed(_ member: Member) -> Bool {
            // Most names differ in length.
            guard Int(member.textCount) == textCount else { return false }
            return name
                ~= JSONValue(
                    kind: .string, hasEscapes: member.nameHasEscapes,
                    bytes: UnsafeRawBufferPointer(start: base + Int(member.name), count: Int(member.nameCount)))
        }
        if let found = rest.last(where: isNamed) { return found }
        return withUnsafeBytes(of: members) { bytes in
            for index in (0..<min(count, Self.usualCount)).reversed() {
                // Proof: a tuple of eight of one type has the layout of an array of them, and `index` is below eight.
                let member = bytes.loadUnaligned(
                    fromByteOffset: index * MemoryLayout<Member>.stride, as: Member.self)
                if isNamed(member) { return member }
            }
            return nil
        }
    }

    private mutating func append(_ member: Member) {
        if count < Self.usualCount {
            let offset = count * MemoryLayout<Member>.stride
            withUnsafeMutableBytes(of: &members) {
                $0.storeBytes(of: member, toByteOffset: offset, as: Member.self)
            }
        } else {
            rest.append(member)
        }
        count += 1
    }

    /// - Parameter base: of the buffer that both are in.
    private static func member(
        _ name: JSONValue, _ textCount: UInt8, _ value: JSONValue, from base: UnsafeRawPointer
    ) -> Member {
        // Neither is empty: a string has its quotation marks.
        Member(
            name: UInt32(name.bytes.baseAddress! - base), value: UInt32(value.bytes.baseAddress! - base),
            valueCount: UInt32(value.bytes.count), nameCount: UInt8(name.bytes.count), textCount: textCount,
            kind: value.kind, valueHasEscapes: value.hasEscapes)
    }
}
