import Glibc

/// Two sockets of this process that nobody waits at: what a send and a receive cost by themselves, without TCP and without
/// another thread to wake.
final class SocketPair {
    private let near: Int32
    private let far: Int32

    init() throws(BenchmarkError) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw .system("socketpair")
        }
        (near, far) = (ends[0], ends[1])
    }

    deinit {
        close(near)
        close(far)
    }

    /// - Parameter frames: between two looks at the clock.
    /// - Returns: what a frame sent and received costs.
    func measure(_ frames: Int, for seconds: Double) throws -> Cost {
        let frame = [UInt8](repeating: 7, count: CallPhones.frameBytes)
        var buffer = frame
        return try Cost.measure(for: seconds) { cost in
            try cost.add(frames) {
                for _ in 0..<frames {
                    guard send(near, frame, frame.count, Int32(MSG_NOSIGNAL)) == frame.count,
                        recv(far, &buffer, buffer.count, 0) == frame.count
                    else { throw BenchmarkError.system("a socket pair") }
                }
            }
        }
    }
}
