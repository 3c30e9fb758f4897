/// Operations that stay where they are in memory for as long as the chunk lives, so that statements can be bound to
/// them without copying.
///
/// Proof for `@unchecked`: its memory is written before anybody else has it, and never again.
final class OperationChunk: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer

    init(copying buffer: OperationBuffer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.bytes.count, alignment: 1)
        copy.copyBytes(from: buffer.bytes)
        bytes = UnsafeRawBufferPointer(copy)
    }

    deinit { bytes.deallocate() }

    subscript(range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[range]) }
}
