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

    let layout: LogLayout
    let loop: EventLoop
    private let mailbox: Mailbox<LogDesk.Item>
    private let capacity: Int
    private let isOfProcess: Bool
    private let counts = LogDesk.Counts()

    /// - Parameters:
    ///   - descriptor: stays the caller's, who may close it: what was taken is written all the same.
    ///   - isOfProcess: what waits here is written before the process ends, also by a trap.
    /// - Throws: `SystemError` when the process is out of descriptors.
    init(
        descriptor: Int32, layout: LogLayout, capacity: Int = LogWriter.capacity, isOfProcess: Bool = false
    ) throws {
        self.layout = layout
        self.capacity = capacity
        self.isOfProcess = isOfProcess
        if isOfProcess { CrashHandler.arrange() }
        // Outlives this: what was taken is written, however soon the writer is released after it.
        let desk = try LogDesk(descriptor, layout, counts, isOfProcess: isOfProcess)
        loop = try EventLoop(name: "log", scheduling: .batch)
        // Lines are counted, and not what they come in.
        mailbox = Mailbox(loop: loop, capacity: .max) { desk.write($0) }
        loop.start()
    }

    deinit {
        loop.stop()
    }

    /// Lines that were never written, since the start.
    var linesDropped: UInt64 { counts.dropped.load(ordering: .relaxed) }

    /// Why the last lines could not be written; nil if they were.
    var failure: String? {
        let failure = counts.failure.load(ordering: .relaxed)
        return failure == 0 ? nil : String(cString: strerror(failure))
    }

    func take(_ entry: LogEntry) {
        let isError = entry.level >= .error
        if post(.entry(entry), room: isError ? capacity + Self.errorReserve : capacity) { return }
        if isError { counts.errorsDropped.add(1, ordering: .relaxed) }
        counts.dropped.add(1, ordering: .relaxed)
    }

    /// Takes all of the lines or none.
    /// - Parameter bytes: the lines, none of them an error's, as ``layout`` makes them.
    func take(_ bytes: [UInt8], lines: Int) {
        if post(.lines(bytes, count: lines), room: capacity) { return }
        counts.dropped.add(UInt64(lines), ordering: .relaxed)
    }

    private func post(_ item: LogDesk.Item, room: Int) -> Bool {
        let count = item.count
        if isOfProcess { CrashHandler.waiting.add(count, ordering: .relaxed) }
        if counts.waiting.add(count, ordering: .relaxed).newValue <= room, mailbox.postAlways(item) { return true }
        counts.waiting.subtract(count, ordering: .relaxed)
        if isOfProcess { CrashHandler.waiting.subtract(count, ordering: .relaxed) }
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
}
