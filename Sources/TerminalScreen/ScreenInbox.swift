import Glibc
import Synchronization

/// Events for a ``ScreenLoop``, from any thread, in order.
public final class ScreenInbox<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        var isWoken = false
    }

    private let state = Mutex(State())
    private let pipe: WakePipe

    /// - Throws: ``TerminalError`` when the process has no free descriptor.
    public init() throws(TerminalError) { pipe = try WakePipe() }

    public func post(_ event: Event) {
        let wakes = state.withLock { state in
            state.events.append(event)
            defer { state.isWoken = true }
            return !state.isWoken
        }
        if wakes { pipe.wake(1) }
    }

    /// Readable while events wait.
    var descriptor: Int32 { pipe.readEnd }

    func take() -> [Event] {
        _ = pipe.drain()
        return state.withLock { state in
            defer { state = State() }
            return state.events
        }
    }
}

/// A pipe that ends a `poll`.
struct WakePipe: ~Copyable, Sendable {
    let readEnd: Int32
    let writeEnd: Int32

    init() throws(TerminalError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw TerminalError("pipe", errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    func wake(_ byte: UInt8) {
        // A full pipe wakes the reader too.
        _ = withUnsafePointer(to: byte) { write(writeEnd, $0, 1) }
    }

    /// The waiting bytes, at most one read.
    func drain() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(readEnd, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }
}
