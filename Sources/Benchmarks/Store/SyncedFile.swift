import Foundation

/// Appends to a file and syncs it after each write.
final class SyncedFile {
    private let descriptor: Int32

    init(_ path: String) throws(BenchmarkError) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system("open \(path)") }
    }

    deinit { close(descriptor) }

    func append(_ bytes: [UInt8]) throws(BenchmarkError) {
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw .system("write") }
        guard fdatasync(descriptor) == 0 else { throw .system("fdatasync") }
    }
}
