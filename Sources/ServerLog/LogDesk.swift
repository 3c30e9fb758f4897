import EventLoop
import Glibc
import Logging
import Synchronization

/// What a ``LogWriter`` has on its thread: it makes lines and writes them. It outlives the writer by what that has taken.
final class LogDesk {
    /// What waits: a line, or many that are bytes already.
    enum Item: Sendable {
        case entry(LogEntry)
        case lines([UInt8], count: Int)

        var count: Int {
            switch self {
            case .entry: 1
            case .lines(_, let count): count
            }
        }
    }

    final class Counts: Sendable {
        /// Lines in the mailbox.
        let waiting = Atomic<Int>(0)
        let dropped = Atomic<UInt64>(0)
        let errorsDropped = Atomic<UInt64>(0)
        /// Why the last bytes could not be written, by `errno`; 0 if they were.
        let failure = Atomic<Int32>(0)
    }

    private let descriptor: Int32
    private let layout: LogLayout
    private let counts: Counts
    private let isOfProcess: Bool
    private var bytes: [UInt8] = []
    /// Of the lines that were dropped, those that have been spoken of.
    private var linesSaid: UInt64 = 0
    private var errorsSaid: UInt64 = 0

    /// - Throws: `SystemError` when the process is out of descriptors.
    init(_ descriptor: Int32, _ layout: LogLayout, _ counts: Counts, isOfProcess: Bool) throws {
        self.descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard self.descriptor >= 0 else { throw SystemError(operation: "fcntl F_DUPFD_CLOEXEC", errno: errno) }
        self.layout = layout
        self.counts = counts
        self.isOfProcess = isOfProcess
    }

    deinit { close(descriptor) }

    func write(_ items: [Item]) {
        let count = items.reduce(0) { $0 + $1.count }
        counts.waiting.subtract(count, ordering: .relaxed)
        for item in items {
            switch item {
            case .entry(let entry): layout.append(entry, to: &bytes)
            case .lines(let lines, _): bytes.append(contentsOf: lines)
            }
            if bytes.count >= 64 * 1024 { putLines() }
        }
        putLines()
        report()
        if isOfProcess { CrashHandler.waiting.subtract(count, ordering: .relaxed) }
    }

    /// Says how many lines were dropped, until that is written.
    private func report() {
        let dropped = counts.dropped.load(ordering: .relaxed)
        guard dropped > linesSaid else { return }
        let errorsDropped = counts.errorsDropped.load(ordering: .relaxed)
        layout.append(Self.note(dropped - linesSaid, errors: errorsDropped - errorsSaid), to: &bytes)
        guard put() == 0 else { return }
        (linesSaid, errorsSaid) = (dropped, errorsDropped)
    }

    private static func note(_ lines: UInt64, errors: UInt64) -> LogEntry {
        LogEntry(
            time: .now(), level: errors > 0 ? .error : .warning, label: "log",
            message: lines == 1 ? "1 line dropped" : "\(lines) lines dropped",
            metadata: errors > 0 ? ["errors": .stringConvertible(errors)] : [:])
    }

    private func putLines() {
        let lost = put()
        if lost > 0 { counts.dropped.add(UInt64(lost), ordering: .relaxed) }
    }

    /// Writes all bytes, however long that takes, or no more of them once the other end has gone or the disk is full.
    /// - Returns: the number of lines that are not written, or not to their end.
    private func put() -> Int {
        defer { bytes.removeAll(keepingCapacity: true) }
        guard !bytes.isEmpty else { return 0 }
        return bytes.withUnsafeBytes { buffer -> Int in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                let failure = errno
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if failure == EAGAIN {
                    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    Glibc.poll(&poll, 1, 1000)
                } else if failure != EINTR {
                    counts.failure.store(failure, ordering: .relaxed)
                    return rest.reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
                }
            }
            counts.failure.store(0, ordering: .relaxed)
            return 0
        }
    }
}

@available(*, unavailable)
extension LogDesk: Sendable {}
