import CNGHTTP2

/// Gathers header fields in one buffer, in the form nghttp2 wants. Kept and used again, so that it seldom allocates.
struct FieldEncoder {
    private struct Span {
        let nameLength: Int
        let valueLength: Int
        let flags: UInt8
    }

    private var bytes: [UInt8] = []
    private var spans: [Span] = []
    private var fields: [nghttp2_nv] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        spans.removeAll(keepingCapacity: true)
    }

    mutating func append(_ name: String, _ value: String, isSensitive: Bool = false) {
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let middle = bytes.count
        bytes.append(contentsOf: value.utf8)
        let flags = isSensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
        spans.append(
            Span(nameLength: middle - start, valueLength: bytes.count - middle, flags: UInt8(flags.rawValue)))
    }

    mutating func append(_ more: [HTTPField]) {
        for field in more { append(field.name, field.value, isSensitive: field.isSensitive) }
    }

    /// The fields, valid during the call. nghttp2 copies what it is given.
    mutating func withFields<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        bytes.withUnsafeMutableBufferPointer { bytes in
            fields.removeAll(keepingCapacity: true)
            // There is at least one field: `:method` or `:status`.
            var position = bytes.baseAddress!
            for span in spans {
                let value = position + span.nameLength
                fields.append(
                    nghttp2_nv(
                        name: position, value: value, namelen: span.nameLength, valuelen: span.valueLength,
                        flags: span.flags))
                position = value + span.valueLength
            }
            return fields.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
        }
    }
}
