import Glibc

/// TCP ports of 127.0.0.1.
enum LoopbackPort {
    /// The longest wait for each step of an answer.
    private static let answerSeconds = 1

    /// A port that is free now.
    /// - Throws: ``LoadError``.
    static func free() throws -> UInt16 {
        let descriptor = makeSocket()
        defer { close(descriptor) }
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw LoadError("this machine gives out no port") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Whether the server there, or behind a proxy there, is the home of its realm. Blocks for some seconds at most.
    static func isHome(_ port: UInt16) -> Bool {
        let descriptor = makeSocket()
        defer { close(descriptor) }
        // On Linux, SO_SNDTIMEO also limits connect(): socket(7).
        var timeout = timeval(tv_sec: answerSeconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = loopback(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let request = Array("GET /homez HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        guard isConnected, send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            return false
        }
        let expected = Array("HTTP/1.1 200 ".utf8)
        var answer = [UInt8](repeating: 0, count: expected.count)
        return recv(descriptor, &answer, answer.count, Int32(MSG_WAITALL)) == answer.count && answer == expected
    }

    private static func makeSocket() -> Int32 {
        socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
