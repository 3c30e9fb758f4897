import Glibc

/// Where a connection comes from, in 24 bytes: there is one for each of very many connections.
package struct PeerAddress: CustomStringConvertible {
    private var high: UInt64 = 0
    private var low: UInt64 = 0
    private var port: UInt16 = 0
    /// `AF_INET`, `AF_INET6`, or 0 when the system did not tell.
    private var family: UInt16 = 0

    init(descriptor: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutableBytes(of: &storage) {
            // The storage is never empty.
            getpeername(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard result == 0 else { return }
        withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let address = bytes.load(as: sockaddr_in.self)
                high = UInt64(address.sin_addr.s_addr)
                port = UInt16(bigEndian: address.sin_port)
                family = UInt16(AF_INET)
            case AF_INET6:
                var address = bytes.load(as: sockaddr_in6.self)
                withUnsafeBytes(of: &address.sin6_addr) {
                    high = $0.load(as: UInt64.self)
                    low = $0.load(fromByteOffset: 8, as: UInt64.self)
                }
                port = UInt16(bigEndian: address.sin6_port)
                family = UInt16(AF_INET6)
            default: break
            }
        }
    }

    package var description: String {
        guard family != 0 else { return "" }
        var address = (high, low)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(Int32(family), &address, &text, socklen_t(text.count)) != nil else { return "" }
        let host = text.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return family == UInt16(AF_INET6) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
