/// Operations at a fixed address for the lifetime of the chunk, so that statements bind to them without copying.
///
/// Proof for `@unchecked`: its memory is written before the chunk is shared, and never again.
package final class OperationChunk: @unchecked Sendable {
    private let bytes: UnsafeRawBufferPointer

    package init(copying buffer: OperationBuffer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.bytes.count, alignment: 1)
        copy.copyBytes(from: buffer.bytes)
        bytes = UnsafeRawBufferPointer(copy)
    }

    deinit { bytes.deallocate() }

    package var count: Int { bytes.count }

    /// Runs `body` with the operations in `range`; nil for all.
    package func withBytes<Value, Failure: Error>(
        _ range: Range<Int>? = nil, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        defer { withExtendedLifetime(self) {} }
        return try body(range.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) } ?? bytes)
    }
}
