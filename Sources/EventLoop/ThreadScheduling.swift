import Glibc

/// How the kernel treats a thread beside others that want its core. Where a sandbox refuses it, the thread is like any
/// other.
public enum ThreadScheduling: Sendable {
    /// As the process's first thread, whichever starts this one: a thread begins with the policy of that. A niceness above
    /// the first thread's stays where the process may not take it back.
    case ordinary
    /// For work that is seldom waited for: the thread gives way to others, with a niceness that is 5 above the first
    /// thread's. Against a thread at 0, one at 5 gets a quarter of a core that both want. As ``batch`` it interrupts nobody.
    case background
    /// For a thread that is not waited for, or whose work comes in many small parts: when it wakes up, it does not
    /// interrupt what runs on its core (`SCHED_BATCH`, sched(7)), and finds more at a time when its turn comes. Its share
    /// of the core is an ordinary thread's.
    case batch

    /// `SCHED_BATCH` of linux/sched.h, which the C library declares for GNU programs only.
    static let batchPolicy: Int32 = 3

    /// How much lower a priority ``background`` has.
    private static let backgroundNiceness: Int32 = 5

    /// Linux has both for each thread, the first one's under the process's number, and anybody may lower a priority, which
    /// is cut to the lowest there is.
    func applyToThisThread() {
        let first = getpid()
        let priority = getpriority(Self.which, UInt32(first))
        setpriority(Self.which, Self.thisThread, priority + (self == .background ? Self.backgroundNiceness : 0))
        // None of its own: a real-time policy, which wants one, is left as it came.
        var parameters = sched_param()
        sched_setscheduler(0, self == .ordinary ? sched_getscheduler(first) : Self.batchPolicy, &parameters)
    }

    private static let which = Int32(PRIO_PROCESS.rawValue)
    private static let thisThread: UInt32 = 0
}
