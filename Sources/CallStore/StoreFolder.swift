import Glibc

/// The names of the files in a store's folder, and how the folder comes to be.
enum StoreFolder {
    static func database(in folder: String) -> String { folder + "/reveille.sqlite3" }
    static func lock(in folder: String) -> String { folder + "/reveille.lock" }

    /// Makes the folder (mode 0700) and those above it where they are missing.
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

    /// Makes the database file with mode 0600 before SQLite would with the umask's; it holds push tokens.
    /// The `-wal` and `-shm` files get the mode of the database (sqlite.org/wal.html).
    static func createDatabaseFile(in folder: String) throws(StoreFailure) {
        let path = database(in: folder)
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFailure(errno: errno, path: path, operation: "open for writing") }
        close(descriptor)
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
