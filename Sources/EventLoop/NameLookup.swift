import CLibUV
import Glibc

/// Resolves host names off the loop's thread (libuv's thread pool runs `getaddrinfo`).
public enum NameLookup {
    /// - Parameter completion: called once on the loop's thread, with at least one address or the error; during this call
    ///   for what ``SocketAddress/init(host:port:)`` parses.
    public static func resolve(
        loop: EventLoop, host: String, port: UInt16,
        completion: @escaping (Result<[SocketAddress], SystemError>) -> Void
    ) {
        loop.assertIsCurrent()
        if let address = SocketAddress(host: host, port: port) { return completion(.success([address])) }
        let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
        let pending = Pending(host: host, port: port, completion: completion)
        request.pointee.data = Unmanaged.passRetained(pending).toOpaque()
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let result = uv_getaddrinfo(loop.uvLoop, request, onResolved, host, String(port), &hints)
        if result != 0 { finish(request, status: result, found: nil) }
    }
}

private final class Pending {
    let host: String
    let port: UInt16
    let completion: (Result<[SocketAddress], SystemError>) -> Void

    init(host: String, port: UInt16, completion: @escaping (Result<[SocketAddress], SystemError>) -> Void) {
        self.host = host
        self.port = port
        self.completion = completion
    }
}

private func onResolved(
    _ request: UnsafeMutablePointer<uv_getaddrinfo_t>?, _ status: Int32, _ found: UnsafeMutablePointer<addrinfo>?
) {
    finish(request!, status: status, found: found)
}

/// Balances the `passRetained` of `resolve`.
private func finish(
    _ request: UnsafeMutablePointer<uv_getaddrinfo_t>, status: Int32, found: UnsafeMutablePointer<addrinfo>?
) {
    // Proof: retained when the lookup began; libuv calls back once.
    let pending = Unmanaged<Pending>.fromOpaque(request.pointee.data).takeRetainedValue()
    request.deallocate()
    var addresses: [SocketAddress] = []
    var next = found
    while let entry = next {
        if let address = entry.pointee.ai_addr { addresses.append(SocketAddress(copying: address)) }
        next = entry.pointee.ai_next
    }
    uv_freeaddrinfo(found)
    if addresses.isEmpty {
        // libuv's EAI codes are not errno values, so the text is kept and the errno is a fixed one.
        let reason = status == 0 ? "no address" : String(cString: uv_strerror(status))
        pending.completion(.failure(SystemError(operation: "look up \(pending.host) (\(reason))", errno: EHOSTUNREACH)))
    } else {
        pending.completion(.success(addresses))
    }
}
