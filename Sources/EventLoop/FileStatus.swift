import Glibc

/// What a path leads to, beyond all links: a link itself has all permissions.
public struct FileStatus: Sendable {
    /// The type (`S_IFMT`) and the permissions.
    public let mode: UInt32
    /// The number of the user.
    public let owner: UInt32

    /// Nil when there is nothing, or nothing that may be looked at. Blocks on the disk.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (mode, owner) = (status.st_mode, status.st_uid)
    }
}
