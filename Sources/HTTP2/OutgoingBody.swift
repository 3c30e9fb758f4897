import CNGHTTP2

/// An outgoing body: the bytes that nghttp2 has not taken yet.
struct OutgoingBody {
    private var bytes: [UInt8]
    private var offset = 0
    private(set) var isFinished: Bool
    /// Whether nghttp2 waits for more bytes and must be resumed when they arrive.
    private(set) var isDeferred = false

    init(_ bytes: [UInt8], isFinished: Bool) {
        self.bytes = bytes
        self.isFinished = isFinished
    }

    var count: Int { bytes.count - offset }

    mutating func append(_ more: [UInt8]) {
        bytes.removeSubrange(..<offset)
        offset = 0
        bytes += more
    }

    mutating func finish() { isFinished = true }

    /// Fills nghttp2's frame buffer.
    /// - Returns: the number of bytes, or `NGHTTP2_ERR_DEFERRED` when there are none yet.
    mutating func read(into frame: UnsafeMutablePointer<UInt8>, capacity: Int, flags: UnsafeMutablePointer<UInt32>)
        -> Int
    {
        let taken = min(capacity, count)
        isDeferred = taken == 0 && !isFinished
        if isDeferred { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
        bytes.withUnsafeBufferPointer { bytes in
            if let source = bytes.baseAddress { frame.update(from: source + offset, count: taken) }
        }
        offset += taken
        if isFinished && count == 0 { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return taken
    }
}
