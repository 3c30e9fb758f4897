import Glibc
import Synchronization

/// The signals of a terminal program, as bytes in a pipe. At most one instance in a process.
final class TerminalSignals {
    static let caught = [SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH]

    /// The descriptor the handler writes to; -1 when unused.
    private static let target = Atomic<Int32>(-1)

    private let pipe: WakePipe
    private var before: [(Int32, sigaction)] = []

    init() throws(TerminalError) {
        pipe = try WakePipe()
        let (isFree, _) = Self.target.compareExchange(
            expected: -1, desired: pipe.writeEnd, ordering: .sequentiallyConsistent)
        precondition(isFree, "only one program can use the terminal")
        for signal in Self.caught {
            var (action, old) = (Self.action, sigaction())
            sigaction(signal, &action, &old)
            before.append((signal, old))
        }
    }

    deinit {
        for (signal, action) in before {
            var action = action
            sigaction(signal, &action, nil)
        }
        Self.target.store(-1, ordering: .sequentiallyConsistent)
    }

    /// Readable after a signal.
    var descriptor: Int32 { pipe.readEnd }

    func take() -> [Int32] { pipe.drain().map { Int32($0) } }

    /// Stops the process with SIGTSTP; returns when it continues.
    func suspend() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = SIG_DFL
        sigaction(SIGTSTP, &action, nil)
        // On this thread, so that it stops before the call returns. A thread started from a libdispatch thread inherits
        // its mask, which blocks nearly all signals.
        var (stop, before) = (sigset_t(), sigset_t())
        sigemptyset(&stop)
        sigaddset(&stop, SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &stop, &before)
        raise(SIGTSTP)
        pthread_sigmask(SIG_SETMASK, &before, nil)
        action = Self.action
        sigaction(SIGTSTP, &action, nil)
    }

    private static var action: sigaction {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { signal in
            let before = errno
            let descriptor = TerminalSignals.target.load(ordering: .relaxed)
            _ = withUnsafePointer(to: UInt8(truncatingIfNeeded: signal)) { write(descriptor, $0, 1) }
            errno = before
        }
        action.sa_flags = Int32(SA_RESTART)
        return action
    }
}

@available(*, unavailable)
extension TerminalSignals: Sendable {}
