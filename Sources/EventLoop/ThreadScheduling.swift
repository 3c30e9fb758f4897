import Glibc

/// How the kernel treats a thread beside others that want its core. Where a sandbox refuses it, the thread is like any
/// other.
public enum ThreadScheduling: Sendable {
    /// As the process is.
    case ordinary
    /// For work that is seldom waited for: the thread gives way to others, with a niceness of 5 more than its process has.
    /// Against a thread at 0, one at 5 gets a quarter of a core that both want. As ``batch`` it interrupts nobody.
    case background
    /// For a thread that is not waited for, or whose work comes in many small parts: when it wakes up, it does not
    /// interrupt what runs on its core (`SCHED_BATCH`, sched(7)), and finds more at a time when its turn comes. Its share
    /// of the core is what it was.
    case batch

    /// `SCHED_BATCH` of linux/sched.h, which the C library declares for GNU programs only.
    static let batchPolicy: Int32 = 3

    /// Linux has both for each thread, and anybody may lower a priority, which is cut to the lowest there is.
    func applyToThisThread() {
        switch self {
        case .ordinary: break
        case .background:
            // 0 is this thread.
            let process = Int32(PRIO_PROCESS.rawValue)
            setpriority(process, 0, getpriority(process, 0) + 5)
            interruptNobody()
        case .batch: interruptNobody()
        }
    }

    private func interruptNobody() {
        var parameters = sched_param()
        sched_setscheduler(0, Self.batchPolicy, &parameters)
    }
}
