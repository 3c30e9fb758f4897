import CLibUV
import Glibc

/// The file name of a listening Unix socket.
struct UnixSocketFile {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Binds the socket with mode 0600, and removes a socket file without a listener first. The caller excludes a
    /// concurrent start at the same path, for example by a lock on the folder.
    /// - Throws: ``SystemError``: `EADDRINUSE` when the socket has a listener, or the file is no socket.
    init(binding descriptor: Int32, to address: SocketAddress, path: String) throws {
        // Before the bind: Linux gives the file the mode of the socket, less the umask (af_unix.c, unix_bind_bsd). So
        // the file is never open to other users.
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

    /// Removes the file, unless another process has replaced it.
    func remove() {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
        unlink(path)
    }

    private static func bind(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
        address.withSockAddr { Glibc.bind(descriptor, $0, $1) } == 0 ? 0 : errno
    }

    /// Whether the file is a socket without a listener. A connection to an ordinary file is refused as well, so the
    /// type is checked.
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
    /// Connects to the Unix socket and disconnects, to find out whether it has a listener. Does not wait; any thread.
    /// - Throws: ``SystemError``: `ECONNREFUSED` when the listener is gone, `ENOENT`, `EACCES`, `EMFILE`.
    public func probe() throws(SystemError) {
        precondition(path != nil, "only Unix sockets answer at once")
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw SystemError(operation: "socket", errno: errno) }
        defer { close(descriptor) }
        let failure = withSockAddr { connect(descriptor, $0, $1) } == 0 ? 0 : errno
        // EAGAIN: there is a listener, and its backlog is full.
        guard failure == 0 || failure == EAGAIN else {
            throw SystemError(operation: "connect to \(self)", errno: failure)
        }
    }

    /// Sends a request to the Unix socket, and reads until `read` makes something of the answer. Blocks.
    /// - Parameters:
    ///   - seconds: the longest time for each step.
    ///   - read: is given all bytes so far, at most a mebibyte and a little more.
    /// - Returns: nil when nobody answers, or nothing can be made of the answer.
    public func ask<Answer>(_ request: [UInt8], seconds: Int, _ read: ([UInt8]) -> Answer?) -> Answer? {
        precondition(path != nil, "a program asks in this way on its own machine only")
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // On Linux, SO_SNDTIMEO also limits connect(): socket(7).
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        guard withSockAddr({ connect(descriptor, $0, $1) }) == 0,
            send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count
        else { return nil }
        var (answer, part) = ([UInt8](), [UInt8](repeating: 0, count: 16_384))
        while answer.count < 1 << 20 {
            let count = recv(descriptor, &part, part.count, 0)
            guard count > 0 else { return nil }
            answer += part[..<count]
            if let result = read(answer) { return result }
        }
        return nil
    }
}
