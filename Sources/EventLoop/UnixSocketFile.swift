import CLibUV
import Glibc

/// The name that a listening Unix socket has in the file system.
struct UnixSocketFile {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Binds the socket, for this user only. A socket in the way is removed when nobody listens on it any more; whoever
    /// may start there at the same time has to be kept off by other means, such as a lock on the folder.
    /// - Throws: ``SystemError``, `EADDRINUSE` when somebody listens there, or what is there is no socket.
    init(binding descriptor: Int32, to address: SocketAddress, path: String) throws {
        // Before it has a name: Linux gives the name the mode of the socket, less the umask (af_unix.c, unix_bind_bsd),
        // so that it is never open to others, not even for a moment.
        guard fchmod(descriptor, 0o600) == 0 else { throw SystemError(operation: "fchmod \(path)", errno: errno) }
        var failure = Self.bind(descriptor, address)
        if failure == EADDRINUSE, Self.isDead(address, path) {
            unlink(path)
            failure = Self.bind(descriptor, address)
        }
        guard failure == 0 else { throw SystemError(operation: "bind \(path)", errno: failure) }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw SystemError(operation: "stat \(path)", errno: errno) }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Removes the name, unless it has become somebody else's.
    func remove() {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
        unlink(path)
    }

    private static func bind(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
        address.withSockAddr { Glibc.bind(descriptor, $0, $1) } == 0 ? 0 : errno
    }

    /// Whether it is a socket that nobody listens on. Only of a socket: connecting to a file is refused just the same.
    private static func isDead(_ address: SocketAddress, _ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        do {
            try address.probe()
            return false
        } catch {
            return error.errno == ECONNREFUSED
        }
    }
}

extension SocketAddress {
    /// Finds out whether somebody listens on a Unix socket, by connecting and hanging up. Does not wait; any thread.
    /// - Throws: ``SystemError``: `ECONNREFUSED` when whoever listened is gone, `ENOENT`, `EACCES`, `EMFILE`.
    public func probe() throws(SystemError) {
        precondition(path != nil, "only Unix sockets answer at once")
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw SystemError(operation: "socket", errno: errno) }
        defer { close(descriptor) }
        let failure = withSockAddr { connect(descriptor, $0, $1) } == 0 ? 0 : errno
        // EAGAIN: somebody listens, and is behind in accepting.
        guard failure == 0 || failure == EAGAIN else {
            throw SystemError(operation: "connect to \(self)", errno: failure)
        }
    }
}
