import Glibc
import LibWebSockets

/// A second descriptor of an accepted connection, to ask what arrived on it once the library has closed the first.
struct Arrival: ~Copyable {
    private let descriptor: Int32
    /// The bytes of its PROXY protocol header.
    private let headerBytes: UInt64
    /// Whether it begins with a PROXY protocol header, after the one that was read, if any.
    let hasStrayHeader: Bool

    /// nil when no descriptor is left.
    init?(_ accepted: Int32, headerBytes: Int) {
        let copy = fcntl(accepted, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        (descriptor, self.headerBytes) = (copy, UInt64(headerBytes))
        // OpenSSL fails at its first five bytes, within the adoption.
        hasStrayHeader = hasProxyHeader(accepted)
    }

    deinit { close(descriptor) }

    /// Whether the peer has sent anything after the header, read or not.
    var hasBytes: Bool {
        var info = TCPInfo()
        var size = socklen_t(MemoryLayout<TCPInfo>.size)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else { return false }
        // The end of the stream counts as one.
        return info.bytesReceived > headerBytes + 1
    }

    /// `struct tcp_info` of linux/tcp.h up to `tcpi_bytes_received`; that of the C library ends before it.
    private struct TCPInfo {
        var first = (UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0))
        var second = (UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0))
        var bytesReceived = UInt64(0)
    }
}
