import Glibc

/// Restores the terminal when the process crashes. `write` and `tcsetattr` are async-signal-safe (signal-safety(7)).
enum TerminalRestore {
    private static let faults = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

    private struct State {
        var descriptor: Int32 = -1
        var settings = termios()
        var words: UnsafeMutableBufferPointer<UInt8>?
        var before: [(Int32, sigaction)] = []
    }

    // Proof: written on the terminal's thread, before the handlers are installed and after they are removed; read only
    // by the handler of a crashing process.
    nonisolated(unsafe) private static var state = State()

    static func settle(_ terminal: Int32, _ original: termios) {
        forget()
        state.descriptor = terminal
        state.settings = original
        if state.words == nil {
            // Never freed: one small allocation for the life of the process.
            let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: TerminalDevice.leave.count)
            _ = copy.initialize(from: TerminalDevice.leave)
            state.words = copy
        }
        for signal in faults {
            var (action, old) = (sigaction(), sigaction())
            action.__sigaction_handler.sa_handler = { _ in TerminalRestore.give() }
            // The default action follows: the fault recurs and ends the process.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            sigaction(signal, &action, &old)
            state.before.append((signal, old))
        }
    }

    static func forget() {
        for (signal, action) in state.before {
            var action = action
            sigaction(signal, &action, nil)
        }
        state.before = []
    }

    private static func give() {
        if let words = state.words { _ = write(state.descriptor, words.baseAddress, words.count) }
        tcsetattr(state.descriptor, TCSANOW, &state.settings)
    }
}
