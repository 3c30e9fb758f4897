import Foundation
import Glibc
import StoreInterface

/// The file names of a store, and file operations.
enum StoreFolder {
    static func database(in folder: String) -> String { folder + "/reveille.sqlite3" }
    /// The journal of the store whose database is at `path`: `reveille-journal.sqlite3` beside `reveille.sqlite3`.
    static func journal(of path: String) -> String {
        let ending = ".sqlite3"
        return (path.hasSuffix(ending) ? String(path.dropLast(ending.count)) : path) + "-journal" + ending
    }
    static func lock(in folder: String) -> String { folder + "/reveille.lock" }
    /// The file of the store at `path` with the number of its last commit: see ``CommitMark``.
    static func mark(of path: String) -> String {
        let ending = ".sqlite3"
        return (path.hasSuffix(ending) ? String(path.dropLast(ending.count)) : path) + ".mark"
    }
    /// The clock that the server beside the store keeps.
    static func clock(of path: String) -> String {
        (path.lastIndex(of: "/").map { String(path[...$0]) } ?? "") + "clock.json"
    }
    /// The companion files of a database in WAL mode.
    static func companions(of database: String) -> [String] { [log(of: database), database + "-shm"] }
    static func log(of database: String) -> String { database + "-wal" }

    /// SQLite's rollback journal, which exists while a database not in WAL mode is written.
    static func rollback(of database: String) -> String { database + "-journal" }

    /// All databases of the store with their companions; first the main one, which is at `path`.
    static func files(of path: String) -> [String] {
        [path, journal(of: path)].flatMap { [$0] + companions(of: $0) }
    }

    /// Refuses a store of which a file is a link, or has a name outside of the folder: it may be that of a running
    /// server, whose lock is in another folder. A restore that was interrupted leaves two names in one folder.
    static func refuseLinks(in folder: String) throws(StoreFailure) {
        for file in files(of: database(in: folder)) {
            var status = stat()
            guard lstat(file, &status) == 0 else { continue }
            let isLink = status.st_mode & S_IFMT == S_IFLNK
            guard isLink || status.st_mode & S_IFMT == S_IFREG && status.st_nlink > 1 else { continue }
            let (device, inode) = (status.st_dev, status.st_ino)
            let own = names(in: folder).count { name in
                var other = stat()
                return lstat("\(folder)/\(name)", &other) == 0 && other.st_dev == device && other.st_ino == inode
            }
            guard isLink || own < Int(status.st_nlink) else { continue }
            throw StoreFailure(
                .linkedFile, path: file,
                detail: isLink
                    ? "it is a symbolic link, and its file may be that of another server"
                    : "it has \(status.st_nlink) names (hard links), and may be the file of another server too")
        }
    }

    /// Creates the folder (mode 0700) and its missing parents.
    static func create(_ folder: String) throws(StoreFailure) {
        if mkdir(folder, 0o700) == 0 { return }
        var failure = errno
        if failure == ENOENT, let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            try create(String(folder[..<slash]))
            if mkdir(folder, 0o700) == 0 { return }
            failure = errno
        }
        guard failure == EEXIST, isDirectory(folder) else {
            throw StoreFailure(errno: failure, path: folder, operation: "create the folder")
        }
    }

    /// Creates the database file with mode 0600, because it holds push tokens; SQLite would use the umask. The `-wal`
    /// and `-shm` files get the mode of the database (sqlite.org/wal.html).
    static func createDatabaseFile(in folder: String) throws(StoreFailure) {
        let path = database(in: folder)
        // Not opened if it exists: closing a file releases all locks of the process on it, those of SQLite's
        // connections included.
        if exists(path), !isDirectory(path), access(path, R_OK | W_OK) == 0 { return }
        // Nothing is made at the end of a link.
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFailure(errno: errno, path: path, operation: "open for writing") }
        close(descriptor)
    }

    /// Creates an empty file with mode 0600, owned by this process's user, or, for root, by the owner of `other`.
    static func createDraft(_ path: String, ownedAs other: String? = nil) throws(StoreFailure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFailure(errno: errno, path: path, operation: "create") }
        defer { close(descriptor) }
        var status = stat()
        guard let other, geteuid() == 0, stat(other, &status) == 0 else { return }
        guard fchown(descriptor, status.st_uid, status.st_gid) == 0 else {
            throw StoreFailure(errno: errno, path: path, operation: "give to the owner of the store")
        }
    }

    /// Syncs a file, or the entries of a folder.
    static func sync(_ path: String) throws(StoreFailure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreFailure(errno: errno, path: path, operation: "open") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StoreFailure(errno: errno, path: path, operation: "sync") }
    }

    /// Renames a file, replacing any file at `target`.
    static func move(_ path: String, to target: String) throws(StoreFailure) {
        guard rename(path, target) == 0 else { throw StoreFailure(errno: errno, path: target, operation: "rename") }
    }

    static func link(_ path: String, as target: String) throws(StoreFailure) {
        guard Glibc.link(path, target) == 0 else { throw StoreFailure(errno: errno, path: target, operation: "link") }
    }

    /// Removes a file; no error when it does not exist.
    static func remove(_ path: String) throws(StoreFailure) {
        guard unlink(path) == 0 || errno == ENOENT else {
            throw StoreFailure(errno: errno, path: path, operation: "remove")
        }
    }

    /// The size of a file in bytes; 0 when it does not exist.
    static func size(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Whether SQLite takes the file for a new database: a size of one byte counts as empty (`unixFileSize` in
    /// `os_unix.c`).
    static func isEmpty(_ path: String) -> Bool { size(path) <= 1 }

    /// Whether both paths refer to one file.
    static func isSame(_ path: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        return stat(path, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev
            && first.st_ino == second.st_ino
    }

    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The names in a folder; none when it cannot be read.
    static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Whether opening the path may wait, or never come to an end: it is a pipe, a socket or a device.
    static func isPipeOrDevice(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFREG && status.st_mode & S_IFMT != S_IFDIR
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
