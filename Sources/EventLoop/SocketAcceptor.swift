import CLibUV
import Glibc

/// Listens on one TCP port or Unix socket and passes on each accepted connection as a descriptor.
///
/// A Unix socket has mode 0600. It replaces the socket file of a dead process, and the file is removed at the end.
///
/// One acceptor serves all shards, because two lws contexts cannot listen on one port in Debian's build of lws
/// (`LWS_MAX_SMP` 1). Created, used and released on its loop's thread.
public final class SocketAcceptor {
    /// The kernel's backlog of connections that are not accepted yet.
    private static let backlog: Int32 = 4096
    /// The most connections accepted before the loop handles other events.
    private static let burst = 256
    /// The unsent bytes at which a TCP socket accepts no more output. Otherwise Linux queues up to 4 MiB (`tcp_wmem`)
    /// for a peer that reads nothing, outside the process's memory and limits.
    private static let unsentBytes: Int32 = 131_072
    /// The pause after the process ran out of descriptors.
    private static let pause = Duration.milliseconds(100)
    /// The pause after `hasRoom` returned false.
    private static let shortPause = Duration.milliseconds(1)

    /// The bound address, with the port that the system chose for port 0.
    public let address: SocketAddress

    private let loop: EventLoop
    private let descriptor: Int32
    /// nil for TCP.
    private let file: UnixSocketFile?
    private let poll: UnsafeMutablePointer<uv_poll_t>
    private let hasRoom: () -> Bool
    private let onExhaustion: () -> Void
    private let onAccept: (Int32) -> Void
    private var pauseTimer: LoopTimer?

    /// - Parameters:
    ///   - hasRoom: called before each connection. After `false`, connections wait in the backlog for a millisecond.
    ///   - onExhaustion: called each time that accepting pauses because descriptors or memory ran out.
    ///   - onAccept: takes ownership of a connected descriptor: non-blocking, close-on-exec, for TCP with
    ///     `TCP_NODELAY`, and with at most 128 KiB of unsent output in the kernel.
    /// - Throws: ``SystemError``: `EADDRINUSE` when the port is taken, or the path is taken by anything but a dead
    ///   socket.
    public init(
        loop: EventLoop, address: SocketAddress, hasRoom: @escaping () -> Bool = { true },
        onExhaustion: @escaping () -> Void = {}, onAccept: @escaping (Int32) -> Void
    ) throws {
        loop.assertIsCurrent()
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { throw SystemError(operation: "socket", errno: errno) }
        do {
            file = try Self.bind(descriptor, to: address)
            guard listen(descriptor, Self.backlog) == 0 else {
                throw SystemError(operation: "listen on \(address)", errno: errno)
            }
            self.address = try SocketAddress(boundTo: descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        self.loop = loop
        self.descriptor = descriptor
        self.hasRoom = hasRoom
        self.onExhaustion = onExhaustion
        self.onAccept = onAccept
        poll = .allocate(capacity: 1)
        uv_poll_init(loop.uvLoop, poll, descriptor)
        poll.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        uv_poll_start(poll, Int32(UV_READABLE.rawValue), onReadable)
        pauseTimer = LoopTimer(loop: loop) { [weak self] in self?.resume() }
    }

    private static func bind(_ descriptor: Int32, to address: SocketAddress) throws -> UnixSocketFile? {
        if let path = address.path { return try UnixSocketFile(binding: descriptor, to: address, path: path) }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        let bound = address.withSockAddr { Glibc.bind(descriptor, $0, $1) }
        guard bound == 0 else { throw SystemError(operation: "bind \(address)", errno: errno) }
        return nil
    }

    deinit {
        loop.assertIsCurrent()
        poll.pointee.data = nil
        loop.close(poll, freePoll)
        // Removes the name first, so that no client connects to a socket that is about to close.
        file?.remove()
        close(descriptor)
    }

    fileprivate func acceptBurst() {
        loop.turnBegan()
        for _ in 0..<Self.burst {
            guard hasRoom() else { return rest(for: Self.shortPause) }
            let accepted = accept4(descriptor, nil, nil, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
            if accepted >= 0 {
                // Both options fail on a Unix socket, which needs neither: it has no delay and a bounded queue.
                Self.set(accepted, TCP_NODELAY, 1)
                Self.set(accepted, TCP_NOTSENT_LOWAT, Self.unsentBytes)
                onAccept(accepted)
                continue
            }
            switch errno {
            case EAGAIN: return
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                onExhaustion()
                return rest(for: Self.pause)
            default: continue  // The peer has gone (ECONNABORTED and its like): the next one.
            }
        }
    }

    private static func set(_ descriptor: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, Int32(IPPROTO_TCP), option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Stops polling for a while. The poll is level-triggered: with it on, the loop would spin.
    private func rest(for duration: Duration) {
        uv_poll_stop(poll)
        pauseTimer?.start(after: duration)
    }

    private func resume() {
        uv_poll_start(poll, Int32(UV_READABLE.rawValue), onReadable)
    }
}

@available(*, unavailable)
extension SocketAcceptor: Sendable {}

private func onReadable(_ handle: UnsafeMutablePointer<uv_poll_t>?, _: Int32, _: Int32) {
    guard let data = handle?.pointee.data else { return }
    Unmanaged<SocketAcceptor>.fromOpaque(data).takeUnretainedValue().acceptBurst()
}

private func freePoll(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
    UnsafeMutableRawPointer(handle)?.assumingMemoryBound(to: uv_poll_t.self).deallocate()
}
