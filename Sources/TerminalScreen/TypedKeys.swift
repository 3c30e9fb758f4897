import Glibc

/// The keys that a person types on standard input, for a program that edits lines itself: they come one by one, without
/// echo, also those that make signals. The output stays as it is. At most one instance in a process.
public final class TypedKeys: Sendable {
    private static let signals = [
        SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
    ]

    // Proof: written once, before the handlers are installed that read it, and before other threads have the instance.
    nonisolated(unsafe) private static var original = termios()

    /// - Throws: where standard input is no terminal.
    public init() throws(TerminalError) {
        guard tcgetattr(STDIN_FILENO, &Self.original) == 0 else { throw TerminalError("tcgetattr", errno) }
        for signal in Self.signals {
            var action = sigaction()
            // `tcsetattr` and `raise` are async-signal-safe (signal-safety(7)).
            action.__sigaction_handler.sa_handler = { signal in
                tcsetattr(STDIN_FILENO, TCSANOW, &TypedKeys.original)
                raise(signal)
            }
            // The default action follows.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            sigaction(signal, &action, nil)
        }
        try take()
    }

    private func take() throws(TerminalError) {
        var modes = Self.original
        modes.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0 else { throw TerminalError("tcsetattr", errno) }
    }

    /// Waits for keys.
    /// - Returns: nil when the terminal is gone.
    public func read(_ decoder: inout KeyDecoder) -> [Key]? {
        if decoder.isWaiting {
            var poll = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            if Glibc.poll(&poll, 1, 50) == 0 { return decoder.timedOut() }
        }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
        if count > 0 { return decoder.take(bytes.prefix(count)) }
        return count < 0 && errno == EINTR ? [] : nil
    }

    /// Gives the terminal back. From any thread.
    public func restore() {
        var modes = Self.original
        tcsetattr(STDIN_FILENO, TCSANOW, &modes)
    }

    /// Ends the process as Ctrl-C does.
    public func interrupt() {
        restore()
        kill(getpid(), SIGINT)
    }

    /// Stops the process as Ctrl-Z does; returns when it continues.
    public func suspend() {
        restore()
        // On this thread, so that it stops before the call returns. A thread started from a libdispatch thread inherits
        // its mask, which blocks nearly all signals.
        var (stop, before) = (sigset_t(), sigset_t())
        sigemptyset(&stop)
        sigaddset(&stop, SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &stop, &before)
        raise(SIGTSTP)
        pthread_sigmask(SIG_SETMASK, &before, nil)
        // A terminal that is gone is found by the next read.
        try? take()
    }
}
