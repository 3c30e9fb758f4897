import Glibc

/// Files that only their owner can read: keys and tokens, and the state of a server.
public enum PrivateFile {
    /// Writes a file with mode 0600. After a crash of the process or of the machine it has its old content or the new
    /// one, and nobody else could read it at any time. Blocks on the disk.
    /// - Parameters:
    ///   - isNew: leaves a file that is there as it is.
    ///   - mode: another one, for files that belong to private ones and have no secret.
    /// - Returns: false if `isNew` and the file was there.
    /// - Throws: ``SystemError``; the file is unchanged then, unless only its folder could not be synced.
    @discardableResult
    public static func write(
        _ content: some Sequence<UInt8>, to path: String, isNew: Bool = false, mode: mode_t = 0o600
    ) throws(SystemError) -> Bool {
        var random = SystemRandomness()
        // In the same folder, so that a rename is enough. Another program may write the same file.
        let draft = "\(path).\(String(random.next(), radix: 16)).new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw SystemError(operation: "create \(path)", errno: errno) }
        // No file any more after the rename.
        defer { unlink(draft) }
        try fill(descriptor, Array(content), path)
        if !isNew {
            guard rename(draft, path) == 0 else { throw SystemError(operation: "rename \(path)", errno: errno) }
        } else if link(draft, path) != 0 {
            if errno == EEXIST { return false }
            throw SystemError(operation: "link \(path)", errno: errno)
        }
        try syncFolder(of: path)
        return true
    }

    /// Writes and syncs the bytes, and closes the descriptor.
    private static func fill(_ descriptor: Int32, _ bytes: [UInt8], _ path: String) throws(SystemError) {
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError(operation: "write \(path)", errno: count < 0 ? errno : EIO) }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw SystemError(operation: "sync \(path)", errno: errno) }
    }

    /// Makes the file's new name last.
    private static func syncFolder(of path: String) throws(SystemError) {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // A folder may be for writing only.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // Some file systems sync no folders (EINVAL).
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw SystemError(operation: "sync \(folder)", errno: errno)
        }
    }
}
