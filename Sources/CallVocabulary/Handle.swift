/// A user's name in calls: `alice`, `+81312345678`, `alice@example.org`. Compared byte for byte.
public struct Handle: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The longest handle, in UTF-8 bytes.
    public static let longest = 128

    public let text: String

    /// The rule for handles, to follow "a handle: ".
    public static let rule = "1 to \(longest) bytes without white space, control and format characters"

    /// `nil` for an empty handle, one over ``longest`` bytes, or one with white space, control characters (Cc) or
    /// format characters (Cf: invisible ones, and those that change the display order). The joiners U+200C and U+200D
    /// are accepted, because words of some scripts need them.
    public init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count) else { return nil }
        for scalar in text.unicodeScalars where Self.isExcluded(scalar) { return nil }
        self.text = text
    }

    /// A handle from the store or another process. It may predate the rule: control characters from U+0080 on and
    /// format characters were accepted once.
    public init?(known text: String) {
        guard (1...Self.longest).contains(text.utf8.count) else { return nil }
        for scalar in text.unicodeScalars where Self.isSeparator(scalar) { return nil }
        self.text = text
    }

    private static func isExcluded(_ scalar: Unicode.Scalar) -> Bool {
        if isSeparator(scalar) { return true }
        guard !scalar.isASCII else { return false }
        switch scalar.value {
        case 0x200C, 0x200D: return false
        default:
            let category = scalar.properties.generalCategory
            return category == .control || category == .format
        }
    }

    /// Whether the scalar is white space or an ASCII control character. ASCII is tested first: Unicode property lookups
    /// are slow.
    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII ? scalar.value <= 0x20 || scalar.value == 0x7F : scalar.properties.isWhitespace
    }

    // Swift compares strings by canonical equivalence; the store and clients compare bytes.
    public static func == (a: Self, b: Self) -> Bool {
        a.text.utf8.count == b.text.utf8.count && firstDifference(a, b) == nil
    }

    public static func < (a: Self, b: Self) -> Bool {
        guard let (first, second) = firstDifference(a, b) else { return a.text.utf8.count < b.text.utf8.count }
        return first < second
    }

    /// The first differing chunk of both texts, as big-endian numbers, whose order is that of the bytes. Eight bytes at
    /// a time, because each lookup compares handles.
    private static func firstDifference(_ a: Self, _ b: Self) -> (UInt64, UInt64)? {
        var (first, second) = (a.text, b.text)
        return first.withUTF8 { first in
            second.withUTF8 { second in
                let (first, second) = (UnsafeRawBufferPointer(first), UnsafeRawBufferPointer(second))
                let count = min(first.count, second.count)
                var offset = 0
                while offset + 8 <= count {
                    let words = (
                        first.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
                        second.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                    )
                    if words.0 != words.1 { return (UInt64(bigEndian: words.0), UInt64(bigEndian: words.1)) }
                    offset += 8
                }
                while offset < count {
                    if first[offset] != second[offset] { return (UInt64(first[offset]), UInt64(second[offset])) }
                    offset += 1
                }
                return nil
            }
        }
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    public var description: String { text }

    /// The corresponding `CXHandle.HandleType` of CallKit.
    public var kind: HandleKind {
        let utf8 = text.utf8
        if utf8.first == UInt8(ascii: "+"), utf8.count > 1, utf8.dropFirst().allSatisfy({ 48...57 ~= $0 }) {
            return .phone
        }
        if let at = utf8.firstIndex(of: UInt8(ascii: "@")), at != utf8.startIndex,
            utf8.index(after: at) != utf8.endIndex
        {
            return .email
        }
        return .generic
    }
}

/// The cases of CallKit's `CXHandle.HandleType`, by their names on the wire.
public enum HandleKind: String, Sendable, CaseIterable {
    case phone, email, generic
}
