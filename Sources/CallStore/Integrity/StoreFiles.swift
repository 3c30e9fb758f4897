import Glibc
import StoreInterface

/// The identities of the files that a server has open. A deleted, moved or replaced file still takes writes, which no
/// later process finds.
struct StoreFiles {
    private struct File {
        var path: String
        var device: UInt64
        var inode: UInt64
    }

    private let files: [File]

    /// Records the files of the store whose database is at `path`; all must exist.
    init(_ path: String) {
        files = (StoreFolder.files(of: path) + [StoreFolder.mark(of: path)]).compactMap { path in
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            return File(path: path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        }
    }

    /// - Throws: ``StoreFailure/Reason/displacedFile``.
    func check() throws(StoreFailure) {
        for file in files {
            var status = stat()
            let isThere = stat(file.path, &status) == 0
            guard !isThere || UInt64(status.st_dev) != file.device || UInt64(status.st_ino) != file.inode else {
                continue
            }
            throw StoreFailure(
                .displacedFile, path: file.path,
                detail: isThere ? "it was replaced while the server runs" : "it is missing while the server runs"
            )
        }
    }
}
