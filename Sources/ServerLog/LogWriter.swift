import Dispatch
import EventLoop
import Glibc
import Logging
import Synchronization

/// Writes lines from a thread of its own, so that a terminal, a pipe or a journal that does not take them holds up
/// nobody else.
///
/// What does not fit into its queue is counted and said in one line when there is room again. Errors have room of their
/// own on top, and are counted apart. Any thread.
final class LogWriter: Sendable {
    /// Lines that wait at most.
    static let capacity = 8192
    /// Errors that may wait beyond that.
    static let errorReserve = 1024

    /// What waits: a line, or many that are bytes already.
    private enum Item: Sendable {
        case entry(LogEntry)
        case lines([UInt8], count: Int)

        var count: Int {
            switch self {
            case .entry: 1
            case .lines(_, let count): count
            }
        }
    }

    private let descriptor: Int32
    let layout: LogLayout
    let loop: EventLoop
    private let mailbox: Mailbox<Item>
    private let capacity: Int
    /// Lines in the mailbox.
    private let waiting = Atomic<Int>(0)
    private let isOfProcess: Bool
    private let dropped = Atomic<UInt64>(0)
    private let errorsDropped = Atomic<UInt64>(0)

    /// What the loop's thread has said of lines that were dropped, and the room that it makes lines in.
    private final class Desk {
        var bytes: [UInt8] = []
        var lines: UInt64 = 0
        var errors: UInt64 = 0
    }

    /// Reaches the writer, which the mailbox does not keep.
    private final class Backward: Sendable {
        let writer = Mutex<WeakWriter>(WeakWriter())
    }

    private struct WeakWriter: Sendable {
        weak var writer: LogWriter?
    }

    /// - Parameters:
    ///   - descriptor: stays the caller's.
    ///   - isOfProcess: what waits here is written before the process ends, also by a trap.
    /// - Throws: `SystemError` when the process is out of descriptors.
    init(
        descriptor: Int32, layout: LogLayout, capacity: Int = LogWriter.capacity, isOfProcess: Bool = false
    ) throws {
        self.descriptor = descriptor
        self.layout = layout
        self.capacity = capacity
        self.isOfProcess = isOfProcess
        if isOfProcess { LastWords.arrange() }
        loop = try EventLoop(name: "log")
        let backward = Backward()
        let desk = Desk()
        // Lines are counted, and not what they come in.
        mailbox = Mailbox(loop: loop, capacity: .max) { items in
            guard let writer = backward.writer.withLock({ $0.writer }) else { return }
            writer.write(items, desk)
        }
        backward.writer.withLock { $0.writer = self }
        loop.start()
    }

    deinit {
        loop.stop()
    }

    /// Lines that were never written, since the start.
    var linesDropped: UInt64 { dropped.load(ordering: .relaxed) }

    func take(_ entry: LogEntry) {
        let isError = entry.level >= .error
        if post(.entry(entry), room: isError ? capacity + Self.errorReserve : capacity) { return }
        if isError { errorsDropped.add(1, ordering: .relaxed) }
        dropped.add(1, ordering: .relaxed)
    }

    /// Takes all of the lines or none.
    /// - Parameter bytes: the lines, none of them an error's, as ``layout`` makes them.
    func take(_ bytes: [UInt8], lines: Int) {
        if post(.lines(bytes, count: lines), room: capacity) { return }
        dropped.add(UInt64(lines), ordering: .relaxed)
    }

    private func post(_ item: Item, room: Int) -> Bool {
        let count = item.count
        if isOfProcess { LastWords.waiting.add(count, ordering: .relaxed) }
        if waiting.add(count, ordering: .relaxed).newValue <= room, mailbox.postAlways(item) { return true }
        waiting.subtract(count, ordering: .relaxed)
        if isOfProcess { LastWords.waiting.subtract(count, ordering: .relaxed) }
        return false
    }

    /// Returns once all that was taken before is written, or the time is over. Not on a loop's thread.
    /// - Returns: whether it is written.
    @discardableResult
    func flush(within limit: Duration) -> Bool {
        let done = DispatchSemaphore(value: 0)
        guard loop.execute({ done.signal() }) else { return true }
        return done.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1)))) == .success
    }

    // MARK: On the thread

    private func write(_ items: [Item], _ desk: Desk) {
        let count = items.reduce(0) { $0 + $1.count }
        waiting.subtract(count, ordering: .relaxed)
        for item in items {
            switch item {
            case .entry(let entry): layout.append(entry, to: &desk.bytes)
            case .lines(let lines, _): desk.bytes.append(contentsOf: lines)
            }
            if desk.bytes.count >= 64 * 1024 { put(&desk.bytes) }
        }
        let lines = dropped.load(ordering: .relaxed)
        if lines > desk.lines {
            let errors = errorsDropped.load(ordering: .relaxed)
            layout.append(Self.note(lines - desk.lines, errors: errors - desk.errors), to: &desk.bytes)
            desk.lines = lines
            desk.errors = errors
        }
        put(&desk.bytes)
        if isOfProcess { LastWords.waiting.subtract(count, ordering: .relaxed) }
    }

    private static func note(_ lines: UInt64, errors: UInt64) -> LogEntry {
        LogEntry(
            time: .now(), level: errors > 0 ? .error : .warning, label: "log",
            message: lines == 1 ? "1 line dropped" : "\(lines) lines dropped",
            metadata: errors > 0 ? ["errors": .stringConvertible(errors)] : [:])
    }

    /// Writes all of it, however long that takes, or none of it once the other end has gone.
    private func put(_ bytes: inout [UInt8]) {
        defer { bytes.removeAll(keepingCapacity: true) }
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    Glibc.poll(&poll, 1, 1000)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}
