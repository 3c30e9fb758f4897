import CNGHTTP2

/// Header fields of a request, encoded once for nghttp2.
public struct PreparedFields: Sendable {
    /// Proof for `@unchecked`: nothing changes after init.
    private final class Storage: @unchecked Sendable {
        /// The fields, followed in the same block by the bytes that they point to.
        private let block: UnsafeMutableRawPointer
        fileprivate let fields: UnsafeMutableBufferPointer<nghttp2_nv>

        init(_ encoder: FieldEncoder) {
            let fieldSize = encoder.spans.count * MemoryLayout<nghttp2_nv>.stride
            block = .allocate(
                byteCount: fieldSize + encoder.bytes.count, alignment: MemoryLayout<nghttp2_nv>.alignment)
            fields = UnsafeMutableBufferPointer(
                start: block.bindMemory(to: nghttp2_nv.self, capacity: encoder.spans.count), count: encoder.spans.count)
            let bytes = (block + fieldSize).bindMemory(to: UInt8.self, capacity: encoder.bytes.count)
            bytes.initialize(from: encoder.bytes, count: encoder.bytes.count)
            FieldEncoder.write(encoder.spans, to: fields, pointingInto: bytes)
        }

        deinit { block.deallocate() }
    }

    private let storage: Storage

    private init(_ encoder: FieldEncoder) {
        storage = Storage(encoder)
    }

    /// Fields that many requests share.
    public init(_ fields: [HTTPField]) {
        var encoder = FieldEncoder()
        encoder.append(fields)
        self.init(encoder)
    }

    /// A request's own fields: its path first.
    public init(path: String, isPathSensitive: Bool, fields: [HTTPField]) {
        var encoder = FieldEncoder()
        encoder.append(":path", path, isSensitive: isPathSensitive)
        encoder.append(fields)
        self.init(encoder)
    }

    /// The pseudo-header fields before a request's path.
    public init(method: String, scheme: String = "https", authority: String) {
        var encoder = FieldEncoder()
        encoder.append(":method", method)
        encoder.append(":scheme", scheme)
        encoder.append(":authority", authority)
        self.init(encoder)
    }

    /// Appends pointers into this storage: the caller keeps it alive until they are used.
    func append(to list: inout [nghttp2_nv]) {
        withExtendedLifetime(storage) { list.append(contentsOf: storage.fields) }
    }
}
