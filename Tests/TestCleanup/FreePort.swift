import Glibc
import Synchronization

/// An unused TCP and UDP port of 127.0.0.1: for a program that needs a fixed port, and for an address at which nobody
/// listens. Any thread.
///
/// Linux gives the ports from 32,768 on to outgoing connections and to sockets bound to port 0
/// (`net.ipv4.ip_local_port_range`). So no other test takes this port before its program does, or while its program is
/// stopped.
/// - Returns: each port once in a process.
/// - Throws: ``NoFreePort``.
public func freePort() throws(NoFreePort) -> UInt16 {
    while let port = FreePorts.next() {
        if try FreePorts.isFree(port, SOCK_STREAM), try FreePorts.isFree(port, SOCK_DGRAM) { return port }
    }
    throw NoFreePort(description: "all ports that tests may take are given or in use")
}

public struct NoFreePort: Error, CustomStringConvertible {
    public let description: String
}

private enum FreePorts {
    private static let ports = 20_000..<32_000
    /// Begins at a random port: processes that run at the same time rarely give the same.
    private static let first = Int.random(in: 0..<ports.count)
    private static let tried = Mutex(0)

    /// The next port to try; nil after the last one.
    static func next() -> UInt16? {
        tried.withLock { tried in
            guard tried < ports.count else { return nil }
            defer { tried += 1 }
            return UInt16(ports.lowerBound + (first + tried) % ports.count)
        }
    }

    static func isFree(_ port: UInt16, _ type: __socket_type) throws(NoFreePort) -> Bool {
        let descriptor = socket(AF_INET, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw NoFreePort(description: "no socket: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
