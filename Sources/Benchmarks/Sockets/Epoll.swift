import CEpoll
import Glibc

/// Descriptors that one thread waits for, by numbers of its own.
final class Epoll {
    /// Nothing here takes so long unless the other side is stuck.
    private static let patience: Int32 = 5_000
    private static let mostAtOnce = 1_024

    private let descriptor: Int32
    private var events = [epoll_event](repeating: epoll_event(), count: mostAtOnce)

    init() throws(BenchmarkError) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw .system("epoll_create1") }
    }

    deinit { close(descriptor) }

    /// Until it is closed.
    func add(_ file: Int32, as number: Int) throws(BenchmarkError) {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: UInt64(bitPattern: Int64(number))))
        guard epoll_ctl(descriptor, EPOLL_CTL_ADD, file, &event) == 0 else { throw .system("epoll_ctl") }
    }

    /// - Returns: how many there are that have something to be read, to be asked for with ``number(_:)``.
    /// - Throws: ``BenchmarkError`` when there are none for seconds.
    func wait() throws(BenchmarkError) -> Int {
        while true {
            let count = epoll_wait(descriptor, &events, Int32(events.count), Self.patience)
            if count > 0 { return Int(count) }
            guard count < 0, errno == EINTR else {
                throw count == 0 ? BenchmarkError("nothing came for \(Self.patience / 1000) s") : .system("epoll_wait")
            }
        }
    }

    func number(_ index: Int) -> Int { Int(Int64(bitPattern: events[index].data.u64)) }
}
