import Glibc

/// How the kernel schedules a thread. Where a sandbox refuses the setting, the thread keeps the default.
public enum ThreadScheduling: Sendable {
    /// The policy of the process's first thread, whichever thread starts this one. A niceness above the first thread's
    /// stays if the process may not lower it.
    case ordinary
    /// For low-priority work: niceness 5 above the first thread's, so about a quarter of a contended core beside a
    /// thread at 0. Like ``batch``, it does not preempt other threads.
    case background
    /// For throughput at the cost of latency (`SCHED_BATCH`, sched(7)): on wake-up, the thread does not preempt the
    /// running one, so more work accumulates for its turn. Its share of the core is that of an ordinary thread.
    case batch

    /// `SCHED_BATCH` of linux/sched.h, which the C library declares for GNU programs only.
    static let batchPolicy: Int32 = 3

    /// How far ``background`` raises the niceness.
    private static let backgroundNiceness: Int32 = 5

    /// Linux keeps niceness and policy for each thread; the first thread's id is the process id. A process may always
    /// raise a niceness, which is capped at the maximum.
    func applyToThisThread() {
        let first = getpid()
        let priority = getpriority(Self.which, UInt32(first))
        setpriority(Self.which, Self.thisThread, priority + (self == .background ? Self.backgroundNiceness : 0))
        // Priority 0. A real-time policy requires another priority, so the call fails and leaves such a policy
        // unchanged.
        var parameters = sched_param()
        sched_setscheduler(0, self == .ordinary ? sched_getscheduler(first) : Self.batchPolicy, &parameters)
    }

    private static let which = Int32(PRIO_PROCESS.rawValue)
    private static let thisThread: UInt32 = 0
}
