/// A received header: the pseudo-header fields (RFC 9113 §8.3) and the others in order.
///
/// nghttp2 has validated the header: no unknown, repeated, misplaced or missing pseudo-header field.
struct FieldBlock {
    /// The most bytes of all names and values of a header.
    static let byteLimit = 64 * 1024

    var method = ""
    var scheme = ""
    var authority = ""
    var path = ""
    /// 0 in a request and in trailers.
    var status = 0
    var fields: [HTTPField] = []
    private var byteCount = 0

    /// - Parameter wanted: the names of the fields to keep; nil for all. Pseudo-header fields are always kept.
    /// - Returns: false when the header is longer than ``byteLimit``.
    mutating func append(
        name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, isSensitive: Bool, wanted: [[UInt8]]?
    ) -> Bool {
        byteCount += name.count + value.count
        guard byteCount <= Self.byteLimit else { return false }
        guard name.first == UInt8(ascii: ":") else {
            if let wanted, !wanted.contains(where: { $0.count == name.count && name.elementsEqual($0) }) { return true }
            let text = Self.text(value)
            fields.append(HTTPField(Self.text(name), text, isSensitive: isSensitive))
            return true
        }
        // Matches `:status` alone of all pseudo-header fields by two letters.
        if name.count == 7, name[1] == UInt8(ascii: "s"), name[2] == UInt8(ascii: "t") {
            // Three digits, as nghttp2 has validated.
            status = value.prefix(3).reduce(0) { $0 * 10 + Int($1 &- UInt8(ascii: "0")) }
            return true
        }
        let text = Self.text(value)
        switch Self.text(name) {
        case ":method": method = text
        case ":scheme": scheme = text
        case ":authority": authority = text
        case ":path": path = text
        default: break  // `:protocol`, with extended CONNECT only, which is not enabled.
        }
        return true
    }

    /// A field's text, with `?` for bytes beyond ASCII: Swift compares other texts in quadratic time.
    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        guard bytes.contains(where: { $0 >= 0x80 }) else { return String(decoding: bytes, as: UTF8.self) }
        return String(decoding: bytes.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}
