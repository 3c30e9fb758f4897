import Glibc

/// Gives the terminal back when the process dies of a fault, where no code of the program runs any more.
///
/// Proof for `nonisolated(unsafe)`: written on the thread that owns the terminal, before the handlers are set and after
/// they are taken back; read only by the handler of a process that is dying. `write` and `tcsetattr` may be called from
/// handlers (signal-safety(7)).
enum LastRites {
    private static let faults = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

    nonisolated(unsafe) private static var descriptor: Int32 = -1
    nonisolated(unsafe) private static var settings = termios()
    nonisolated(unsafe) private static var words: UnsafeMutableBufferPointer<UInt8>?
    nonisolated(unsafe) private static var before: [(Int32, sigaction)] = []

    static func settle(_ terminal: Int32, _ original: termios) {
        forget()
        descriptor = terminal
        settings = original
        if words == nil {
            // Never freed: one small block for the life of the process.
            let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: TerminalDevice.leave.count)
            _ = copy.initialize(from: TerminalDevice.leave)
            words = copy
        }
        for signal in faults {
            var (action, old) = (sigaction(), sigaction())
            action.__sigaction_handler.sa_handler = { _ in LastRites.give() }
            // Afterwards the fault happens again, and ends the process as it would have.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            sigaction(signal, &action, &old)
            before.append((signal, old))
        }
    }

    static func forget() {
        for (signal, action) in before {
            var action = action
            sigaction(signal, &action, nil)
        }
        before = []
    }

    private static func give() {
        if let words { _ = write(descriptor, words.baseAddress, words.count) }
        tcsetattr(descriptor, TCSANOW, &settings)
    }
}
