import Glibc

/// A listener on the loopback, and connections to it.
final class Loopback {
    let descriptor: Int32
    private let address: sockaddr_in

    /// - Parameter backlog: connections that nobody has accepted yet.
    init(backlog: Int) throws(BenchmarkError) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .system("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let file = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(file, $0, size) == 0 && listen(file, Int32(clamping: backlog)) == 0
                    && getsockname(file, $0, &size) == 0
            }
        }
        self.address = address
        guard isBound else { throw .system("listen") }
    }

    deinit { close(descriptor) }

    /// - Returns: a connection of the caller's, before anybody has accepted it: the kernel does that for as many as the
    ///   backlog has room for.
    func connect() throws(BenchmarkError) -> Int32 { try Self.connect(address) }

    /// - Returns: the other end of a connection, the caller's to close.
    func accept() throws(BenchmarkError) -> Int32 {
        let file = Glibc.accept(descriptor, nil, nil)
        guard file >= 0 else { throw .system("accept") }
        Self.sendAtOnce(file)
        return file
    }

    /// How to connect from another thread.
    var connector: Connector { Connector(address: address) }

    struct Connector: Sendable {
        fileprivate let address: sockaddr_in

        func connect() throws(BenchmarkError) -> Int32 { try Loopback.connect(address) }
    }

    private static func connect(_ address: sockaddr_in) throws(BenchmarkError) -> Int32 {
        let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard file >= 0 else { throw .system("socket") }
        sendAtOnce(file)
        let isConnected = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            let failure = BenchmarkError.system("connect")
            close(file)
            throw failure
        }
        return file
    }

    /// As servers do that do not want a frame to wait for the one before it to be acknowledged.
    private static func sendAtOnce(_ file: Int32) {
        var one: Int32 = 1
        setsockopt(file, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }
}
