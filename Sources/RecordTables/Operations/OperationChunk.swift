/// Operations at a fixed address for the lifetime of the chunk, so that statements bind to them without copying.
///
/// Proof for `@unchecked`: its memory is written before the chunk is shared, and never again.
package final class OperationChunk: @unchecked Sendable {
    package let bytes: UnsafeRawBufferPointer

    package init(copying buffer: OperationBuffer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.bytes.count, alignment: 1)
        copy.copyBytes(from: buffer.bytes)
        bytes = UnsafeRawBufferPointer(copy)
    }

    deinit { bytes.deallocate() }

    package subscript(range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[range]) }
}
