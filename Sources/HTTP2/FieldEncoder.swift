import CNGHTTP2

/// Encodes header fields for nghttp2 in one buffer, which is reused to avoid allocations.
struct FieldEncoder {
    struct Span: Sendable {
        let nameLength: Int
        let valueLength: Int
        let flags: UInt8
    }

    private(set) var bytes: [UInt8] = []
    private(set) var spans: [Span] = []

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

    /// The fields, valid during the call; nghttp2 copies them.
    mutating func withFields<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        let spans = spans
        return bytes.withUnsafeMutableBufferPointer { bytes in
            let fields = UnsafeMutableBufferPointer<nghttp2_nv>.allocate(capacity: spans.count)
            defer { fields.deallocate() }
            Self.write(spans, to: fields, pointingInto: bytes.baseAddress)
            return body(fields.baseAddress, fields.count)
        }
    }

    /// Fills `fields`, one for each span.
    /// - Parameter bytes: the bytes that the spans refer to; nil only without spans.
    static func write(
        _ spans: [Span], to fields: UnsafeMutableBufferPointer<nghttp2_nv>,
        pointingInto bytes: UnsafeMutablePointer<UInt8>?
    ) {
        guard var position = bytes else { return }
        for (index, span) in spans.enumerated() {
            let value = position + span.nameLength
            fields.initializeElement(
                at: index,
                to: nghttp2_nv(
                    name: position, value: value, namelen: span.nameLength, valuelen: span.valueLength,
                    flags: span.flags))
            position = value + span.valueLength
        }
    }
}
