import Glibc

/// The type, permissions and owner of the file that a path leads to. Follows links: a link itself has all permissions.
public struct FileStatus: Sendable {
    /// The type (`S_IFMT`) and the permissions.
    public let mode: UInt32
    /// The number of the user.
    public let owner: UInt32

    /// nil when there is no file, or this user may not look at it. Blocks on the disk.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (mode, owner) = (status.st_mode, status.st_uid)
    }
}
