import Foundation

/// A pipe that single bytes go through, from one thread to another. Reading waits in the kernel.
final class BytePipe: Sendable {
    private let readEnd: Int32
    private let writeEnd: Int32

    init() throws(BenchmarkError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .system("pipe") }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit { close(readEnd) }

    /// Can be read when a byte waits to be taken.
    var descriptor: Int32 { readEnd }

    func put() {
        var byte: UInt8 = 1
        // A byte fits into a pipe from which each is taken before the next is put.
        _ = write(writeEnd, &byte, 1)
    }

    /// - Returns: false when the other side has ended.
    func take() -> Bool {
        var byte: UInt8 = 0
        return read(readEnd, &byte, 1) == 1
    }

    /// To be called once, by whoever puts.
    func endWriting() { close(writeEnd) }
}
