import CLibUV
import Glibc

/// Resolves host names off the loop's thread (libuv's thread pool runs `getaddrinfo`).
public enum NameLookup {
    /// The threads of libuv's pool, which does nothing else. Look-ups take half of them at a time. With libuv's own number,
    /// four, two names whose servers do not answer hold up all others of the process for many seconds; devices choose
    /// some of the names.
    public static let threads = 40

    /// Has libuv make ``threads``, unless the environment says otherwise. Call it before the first loop starts, while no
    /// other thread reads the environment.
    public static func provideThreads() { setenv("UV_THREADPOOL_SIZE", "\(threads)", 0) }

    /// - Parameter completion: called once on the loop's thread, with at least one address or the error; during this call
    ///   for what ``SocketAddress/init(host:port:)`` parses. Not called when the loop stops first.
    public static func resolve(
        loop: EventLoop, host: String, port: UInt16,
        completion: @escaping (Result<[SocketAddress], SystemError>) -> Void
    ) {
        loop.assertIsCurrent()
        if let address = SocketAddress(host: host, port: port) { return completion(.success([address])) }
        let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
        let pending = Pending(loop: loop, host: host, completion: completion)
        request.pointee.data = Unmanaged.passRetained(pending).toOpaque()
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let result = uv_getaddrinfo(loop.uvLoop, request, onResolved, host, String(port), &hints)
        if result != 0 { finish(request, status: result, found: nil) }
    }
}

private final class Pending {
    let loop: EventLoop
    let host: String
    let completion: (Result<[SocketAddress], SystemError>) -> Void

    init(loop: EventLoop, host: String, completion: @escaping (Result<[SocketAddress], SystemError>) -> Void) {
        self.loop = loop
        self.host = host
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
    // Nothing can begin on a loop that ends: its handles are closed, and nobody would close new ones.
    guard !pending.loop.hasStopped else { return }
    if addresses.isEmpty {
        // libuv's EAI codes are not errno values, so the text is kept and the errno is a fixed one.
        let reason = status == 0 ? "no address" : String(cString: uv_strerror(status))
        pending.completion(
            .failure(SystemError(operation: "look up \(pending.host)", errno: EHOSTUNREACH, reason: reason)))
    } else {
        pending.completion(.success(addresses))
    }
}
