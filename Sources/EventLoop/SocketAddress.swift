import CLibUV
import Glibc

/// An IPv4 or IPv6 address with a port, or the path of a Unix socket.
public struct SocketAddress: Sendable, CustomStringConvertible {
    private var storage = sockaddr_storage()

    /// Parses a numeric address: `127.0.0.1`, `::1`. `localhost` means `127.0.0.1`; ``NameLookup`` resolves other
    /// names.
    public init?(host: String, port: UInt16) {
        let host = host == "localhost" ? "127.0.0.1" : host
        let parsed = withUnsafeMutablePointer(to: &storage) { storage in
            let raw = UnsafeMutableRawPointer(storage)
            return uv_ip4_addr(host, Int32(port), raw.assumingMemoryBound(to: sockaddr_in.self)) == 0
                || uv_ip6_addr(host, Int32(port), raw.assumingMemoryBound(to: sockaddr_in6.self)) == 0
        }
        guard parsed else { return nil }
    }

    /// The longest path of a Unix socket in bytes: `sun_path` also holds the terminating zero (unix(7)).
    public static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// A Unix socket by its path.
    /// - Throws: ``SystemError``: `ENAMETOOLONG` over ``longestPath`` bytes, `EINVAL` if it is empty or has a zero byte.
    public init(path: String) throws(SystemError) {
        let bytes = Array(path.utf8)
        guard bytes.count <= Self.longestPath else {
            throw SystemError(
                operation:
                    "the path of a Unix socket has at most \(Self.longestPath) bytes, and \(path) has \(bytes.count)",
                errno: ENAMETOOLONG)
        }
        guard !bytes.isEmpty, !bytes.contains(0) else { throw SystemError(operation: "a socket's path", errno: EINVAL) }
        storage.ss_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &storage) { $0[Self.pathOffset...].copyBytes(from: bytes) }
    }

    // `sun_path` follows the family without a gap.
    private static let pathOffset = MemoryLayout<sa_family_t>.size

    init(copying address: UnsafePointer<sockaddr>) {
        let isIPv6 = address.pointee.sa_family == AF_INET6
        let size = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: size))
        }
    }

    /// The address a socket is bound to, with the port that the system chose for port 0.
    init(boundTo descriptor: Int32) throws {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { storage in
            getsockname(descriptor, UnsafeMutableRawPointer(storage).assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard result == 0 else { throw SystemError(operation: "getsockname", errno: errno) }
    }

    func withSockAddr<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) throws -> R) rethrows -> R {
        let length =
            switch family {
            case AF_UNIX: MemoryLayout<sockaddr_un>.size
            case AF_INET6: MemoryLayout<sockaddr_in6>.size
            default: MemoryLayout<sockaddr_in>.size
            }
        return try withUnsafeBytes(of: storage) {
            // The storage is never empty.
            try body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(length))
        }
    }

    var family: Int32 { Int32(storage.ss_family) }

    /// The path of a Unix socket; nil for the others.
    public var path: String? {
        guard family == AF_UNIX else { return nil }
        return withUnsafeBytes(of: storage) {
            String(decoding: $0[Self.pathOffset...].prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// 0 for a Unix socket.
    public var port: UInt16 {
        guard family != AF_UNIX else { return 0 }
        return withSockAddr { address, _ in
            let raw = UnsafeRawPointer(address)
            return family == AF_INET6
                ? UInt16(bigEndian: raw.load(as: sockaddr_in6.self).sin6_port)
                : UInt16(bigEndian: raw.load(as: sockaddr_in.self).sin_port)
        }
    }

    /// The numeric host: `127.0.0.1`; empty for a Unix socket.
    public var host: String {
        guard family != AF_UNIX else { return "" }
        return withSockAddr { address, length in
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN) + 1)
            let raw = UnsafeRawPointer(address)
            if family == AF_INET6 {
                uv_ip6_name(raw.assumingMemoryBound(to: sockaddr_in6.self), &text, text.count)
            } else {
                uv_ip4_name(raw.assumingMemoryBound(to: sockaddr_in.self), &text, text.count)
            }
            return text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        }
    }

    /// Whether only this machine can reach it.
    public var isLoopback: Bool { family == AF_UNIX || host == "::1" || host.hasPrefix("127.") }

    public var description: String { path ?? (family == AF_INET6 ? "[\(host)]:\(port)" : "\(host):\(port)") }
}
