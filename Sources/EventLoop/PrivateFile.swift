import Glibc

/// Files that only their owner can read: keys and tokens, and the state of a server. They are written whole or not at
/// all. Reads have a limit and do not wait, because a file can be damaged, or be another one.
public enum PrivateFile {
    /// The size limit of the files of a server, in bytes.
    public static let longest = 64 << 20

    /// Reads a whole file. Neither waits, as for the writer of a named pipe, nor reads a file above the limit: that is no
    /// key and no state.
    /// - Parameter longest: the limit, in bytes.
    /// - Returns: nil when there is nothing at the path, not even a symbolic link that leads nowhere.
    /// - Throws: ``SystemError``.
    public static func read(_ path: String, longest: Int = longest) throws(SystemError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            let failure = errno
            var status = stat()
            if failure == ENOENT {
                guard lstat(path, &status) == 0 else { return nil }
                // Made since the first look, unless it is a link that leads nowhere.
                if status.st_mode & S_IFMT != S_IFLNK { return try read(path, longest: longest) }
            }
            throw SystemError(operation: "open \(path)", errno: failure)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemError(operation: "look at \(path)", errno: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw SystemError(operation: "read \(path)", errno: EISDIR)
        default: throw SystemError(operation: "read \(path), which is a pipe or a device", errno: ENOTSUP)
        }
        guard status.st_size <= off_t(longest) else { throw SystemError(operation: "read \(path)", errno: EFBIG) }
        return try content(of: descriptor, size: Int(status.st_size), longest, path)
    }

    /// Whether something has this name, even a symbolic link that leads nowhere or to itself.
    public static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// - Parameter size: what the file had; it may grow meanwhile.
    private static func content(
        of descriptor: Int32, size: Int, _ longest: Int, _ path: String
    ) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: size + 1)
        var count = 0
        while true {
            let part = bytes.withUnsafeMutableBytes { buffer in
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                return Glibc.read(descriptor, rest.baseAddress, rest.count)
            }
            if part < 0, errno == EINTR { continue }
            guard part >= 0 else { throw SystemError(operation: "read \(path)", errno: errno) }
            guard part > 0 else { break }
            count += part
            guard count <= longest else { throw SystemError(operation: "read \(path)", errno: EFBIG) }
            if count == bytes.count { bytes += [UInt8](repeating: 0, count: bytes.count) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

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
