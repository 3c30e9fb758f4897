import CLinux
import Glibc

/// The log of a process of a run, of which only the end is kept. Any thread.
struct LogFile: Sendable {
    /// As much of the end as is read.
    private static let tail = 64 << 10
    /// What stays on the disk, at most, by the time it is trimmed.
    private static let kept = 1 << 20

    let path: String

    /// The last lines, without one of which only a part is read; none where there is no file.
    var lastLines: [Substring] {
        guard let file = OpenFile(path, O_RDONLY) else { return [] }
        let start = max(0, file.size - Self.tail)
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.tail) { buffer, count in
            count = max(0, pread(file.descriptor, buffer.baseAddress, buffer.count, start))
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        return lines.dropFirst(start > 0 ? 1 : 0).filter { !$0.isEmpty }
    }

    /// Frees the disk space before the end. The length of the file stays, so its writer does not notice.
    func trim() {
        guard let file = OpenFile(path, O_WRONLY), file.size > Self.kept else { return }
        // A file system that cannot do it keeps all of the log.
        _ = fallocate(file.descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, off_t(file.size - Self.kept))
    }

    private struct OpenFile: ~Copyable {
        let descriptor: Int32

        init?(_ path: String, _ flags: Int32) {
            descriptor = open(path, flags | O_CLOEXEC)
            if descriptor < 0 { return nil }
        }

        deinit { close(descriptor) }

        var size: Int { max(0, lseek(descriptor, 0, SEEK_END)) }
    }
}
