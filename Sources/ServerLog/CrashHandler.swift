import Glibc
import Synchronization

/// Gives the writers of the process time to write what waits before it ends: at its exit, and before the signal of a
/// trap or an abort ends it.
enum CrashHandler {
    /// Lines that wait.
    static let waiting = Atomic<Int>(0)
    private static let isArranged = Atomic<Bool>(false)
    /// How long the end may be put off, in milliseconds: whoever stalls the log does not keep the process.
    private static let patience = 1000
    private static let signals = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
    // Proof: written by `arrange` before the handlers are there that read it, and never again; kept for good.
    private nonisolated(unsafe) static let before = UnsafeMutablePointer<sigaction>.allocate(capacity: Int(NSIG))

    /// Once for the process, however often it is called.
    static func arrange() {
        guard !isArranged.exchange(true, ordering: .acquiringAndReleasing) else { return }
        atexit { CrashHandler.wait() }
        // So that no handler is the first to use it.
        wait()
        before.initialize(repeating: sigaction(), count: Int(NSIG))
        for signal in signals { sigaction(signal, nil, before + Int(signal)) }
        for signal in signals {
            var action = sigaction()
            // Only what may be called in a signal's handler: an atomic, nanosleep, sigaction, raise. Whoever had the
            // signal before (the default action, or the runtime that prints where it was) has it next: the signal is
            // blocked until this has returned, and finds the thread where it was.
            action.__sigaction_handler.sa_handler = { signal in
                CrashHandler.wait()
                sigaction(signal, CrashHandler.before + Int(signal), nil)
                raise(signal)
            }
            // On the stack that was set up for an overflow of the thread's own, if there is one.
            action.sa_flags = SA_ONSTACK
            sigaction(signal, &action, nil)
        }
    }

    private static func wait() {
        for _ in 0..<patience where waiting.load(ordering: .relaxed) > 0 {
            var pause = timespec(tv_sec: 0, tv_nsec: 1_000_000)
            nanosleep(&pause, nil)
        }
    }
}
