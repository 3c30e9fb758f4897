import Glibc

/// A terminal in exclusive use: reads keys, writes frames, and restores the terminal on exit.
///
/// Opens the device again, so that its non-blocking mode does not affect the shell's descriptors. Used on one thread.
public final class TerminalDevice {
    private static let enter = Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[0m\u{1B}[2J".utf8)
    static let leave = Array("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)
    /// The longest wait on exit for a terminal that accepts no output.
    private static let farewell = Duration.seconds(1)

    public let descriptor: Int32
    private var original = termios()
    private(set) var isEntered = false
    /// The unwritten rest of the last frame. Bounded, because no other frame is written before.
    private var pending: ArraySlice<UInt8> = []

    /// Opens the controlling terminal.
    public convenience init() throws(TerminalError) { try self.init(path: "/dev/tty") }

    public init(path: String) throws(TerminalError) {
        descriptor = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TerminalError("open \(path)", errno) }
    }

    deinit {
        exit()
        close(descriptor)
    }

    /// Switches to raw mode and the alternate screen, without a cursor.
    public func takeOver() throws(TerminalError) {
        guard !isEntered else { return }
        guard tcgetattr(descriptor, &original) == 0 else { throw TerminalError("tcgetattr", errno) }
        TerminalRestore.settle(descriptor, original)
        try setRaw()
        isEntered = true
        send(Self.enter)
    }

    /// Restores the terminal, within a bounded time.
    public func exit() {
        guard isEntered else { return }
        isEntered = false
        pending += Self.leave
        let end = ScreenLoop.now().uptime + Self.farewell
        flush()
        while !pending.isEmpty, ScreenLoop.now().uptime < end {
            var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = Glibc.poll(&poll, 1, 50)
            if poll.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 { break }
            flush()
        }
        pending = []
        tcflush(descriptor, TCIFLUSH)
        // Without waiting for output: a stopped terminal would never finish it.
        tcsetattr(descriptor, TCSANOW, &original)
        TerminalRestore.forget()
    }

    /// Sets the modes again after another program changed them.
    func resume() {
        guard isEntered else { return }
        // A disconnected terminal is detected by the next read.
        try? setRaw()
        send(Self.enter)
    }

    private func setRaw() throws(TerminalError) {
        var raw = original
        cfmakeraw(&raw)
        guard tcsetattr(descriptor, TCSANOW, &raw) == 0 else { throw TerminalError("tcsetattr", errno) }
    }

    /// In columns and rows; 80 by 24 where unknown.
    public var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Whether the terminal has not accepted the whole last frame.
    var isBlocked: Bool { !pending.isEmpty }

    /// Writes a frame; the rest waits until the terminal accepts it.
    func send(_ frame: [UInt8]) {
        pending += frame
        flush()
    }

    func flush() {
        while !pending.isEmpty {
            let count = pending.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            pending = pending.dropFirst(count)
        }
        pending = []
    }

    /// The bytes typed; nil when the terminal is disconnected.
    func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        if count > 0 { return Array(bytes.prefix(count)) }
        return count < 0 && (errno == EAGAIN || errno == EINTR) ? [] : nil
    }
}

@available(*, unavailable)
extension TerminalDevice: Sendable {}
