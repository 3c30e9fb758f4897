import Foundation

/// A file of blocks that are written one after the other, and over again, each until the disk has it: what is below any
/// commit. It has no name any more once it is made.
final class SyncedBlocks {
    /// What one of the two calls has taken, in seconds.
    struct Took {
        fileprivate(set) var cpu = 0.0
        fileprivate(set) var wall = 0.0

        fileprivate mutating func add(_ call: () throws -> Void) rethrows {
            let began = (OwnUsage.threadSeconds, ContinuousClock.now)
            try call()
            cpu += OwnUsage.threadSeconds - began.0
            wall += (ContinuousClock.now - began.1) / .seconds(1)
        }
    }

    static let blockBytes = 4_096
    private static let blocks = 256

    private(set) var commits = 0
    private(set) var writing = Took()
    private(set) var syncing = Took()
    private let descriptor: Int32
    private let block = [UInt8](repeating: 7, count: blockBytes)
    private var next = 0

    init(in folder: String) throws(BenchmarkError) {
        let path = "\(folder)/blocks-\(UUID().uuidString.prefix(8))"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system("open \(path)") }
        unlink(path)
        // What is written later has its place, so that a sync has the block to write and nothing else.
        for _ in 0..<Self.blocks { try write() }
        guard fsync(descriptor) == 0 else { throw .system("fsync") }
    }

    deinit { close(descriptor) }

    func commit() throws {
        try writing.add { try write() }
        try syncing.add { guard fdatasync(descriptor) == 0 else { throw BenchmarkError.system("fdatasync") } }
        commits += 1
    }

    private func write() throws(BenchmarkError) {
        let place = off_t(next * Self.blockBytes)
        guard pwrite(descriptor, block, block.count, place) == block.count else { throw .system("pwrite") }
        next = (next + 1) % Self.blocks
    }
}
