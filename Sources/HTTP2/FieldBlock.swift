/// A received header: the pseudo-header fields (RFC 9113 §8.3) and the others in order.
///
/// nghttp2 has checked it before it gets here: no unknown, repeated or misplaced pseudo-header field, none missing.
struct FieldBlock {
    /// The most bytes of names and values together that a header may have.
    static let byteLimit = 64 * 1024

    var method = ""
    var scheme = ""
    var authority = ""
    var path = ""
    /// 0 in a request and in trailers.
    var status = 0
    var fields: [HTTPField] = []
    private var byteCount = 0

    /// - Returns: false when the header is longer than ``byteLimit``.
    mutating func append(
        name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, isSensitive: Bool
    ) -> Bool {
        byteCount += name.count + value.count
        guard byteCount <= Self.byteLimit else { return false }
        let text = String(decoding: value, as: UTF8.self)
        guard name.first == UInt8(ascii: ":") else {
            fields.append(HTTPField(String(decoding: name, as: UTF8.self), text, isSensitive: isSensitive))
            return true
        }
        switch String(decoding: name, as: UTF8.self) {
        case ":method": method = text
        case ":scheme": scheme = text
        case ":authority": authority = text
        case ":path": path = text
        case ":status": status = Int(text) ?? 0
        default: break  // `:protocol`, with extended CONNECT only, which is not enabled.
        }
        return true
    }
}
