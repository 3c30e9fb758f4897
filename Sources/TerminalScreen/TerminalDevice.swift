import Glibc

/// A terminal that a program has to itself: raw keys in, frames out, and as it was before when the program leaves.
///
/// It is opened anew, so that writing can be made not to block without the shell's own descriptors being so too.
/// Used on one thread.
public final class TerminalDevice {
    private static let enter = Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[0m\u{1B}[2J".utf8)
    static let leave = Array("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)
    /// How long a terminal that takes nothing is waited for when the program leaves.
    private static let farewell = Duration.seconds(1)

    public let descriptor: Int32
    /// The settings to go back to.
    private var original = termios()
    private(set) var isEntered = false
    /// What the terminal has not taken of the last frame: bounded by one frame, as no other is written before.
    private var pending: ArraySlice<UInt8> = []

    /// The terminal that the process belongs to.
    public convenience init() throws(TerminalError) { try self.init(path: "/dev/tty") }

    public init(path: String) throws(TerminalError) {
        descriptor = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TerminalError("open \(path)", errno) }
    }

    deinit {
        exit()
        close(descriptor)
    }

    /// Takes the terminal: raw, on its alternate screen, without a cursor.
    public func takeOver() throws(TerminalError) {
        guard !isEntered else { return }
        guard tcgetattr(descriptor, &original) == 0 else { throw TerminalError("tcgetattr", errno) }
        TerminalRestore.settle(descriptor, original)
        try setRaw()
        isEntered = true
        send(Self.enter)
    }

    /// Gives the terminal back. Bounded in time, also when it takes nothing.
    public func exit() {
        guard isEntered else { return }
        isEntered = false
        pending += Self.leave
        let end = ScreenLoop.now().uptime + Self.farewell
        flush()
        while !pending.isEmpty, ScreenLoop.now().uptime < end {
            var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = Glibc.poll(&poll, 1, 50)
            // Hung up: nobody is there to say goodbye to.
            if poll.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 { break }
            flush()
        }
        pending = []
        tcflush(descriptor, TCIFLUSH)
        // At once: a terminal that is stopped would never have sent what waits.
        tcsetattr(descriptor, TCSANOW, &original)
        TerminalRestore.forget()
    }

    /// Takes it once more as it is to be, whatever another program has made of it.
    func resume() {
        guard isEntered else { return }
        // When it is gone, reading tells.
        try? setRaw()
        send(Self.enter)
    }

    private func setRaw() throws(TerminalError) {
        var raw = original
        cfmakeraw(&raw)
        guard tcsetattr(descriptor, TCSANOW, &raw) == 0 else { throw TerminalError("tcsetattr", errno) }
    }

    /// Columns and rows; 80 by 24 where the terminal does not say.
    public var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Bytes of a frame wait for the terminal: the next one is not to be drawn yet.
    var isBlocked: Bool { !pending.isEmpty }

    /// Writes a frame; what the terminal does not take now waits.
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

    /// What was typed; nil when the terminal is gone.
    func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        if count > 0 { return Array(bytes.prefix(count)) }
        return count < 0 && (errno == EAGAIN || errno == EINTR) ? [] : nil
    }
}

@available(*, unavailable)
extension TerminalDevice: Sendable {}
