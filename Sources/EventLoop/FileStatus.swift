import Glibc

/// The type, permissions, owner and size of the file that a path leads to. Follows links: a link itself has all permissions.
public struct FileStatus: Sendable {
    /// The type (`S_IFMT`) and the permissions.
    public let mode: UInt32
    /// The number of the user.
    public let owner: UInt32
    /// In bytes.
    public let size: Int

    /// nil when there is no file, or this user may not look at it. Blocks on the disk.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (mode, owner, size) = (status.st_mode, status.st_uid, Int(status.st_size))
    }
}
