import Glibc
import Synchronization

/// The state of a child, and the tasks that wait for it. Any thread.
final class ChildProgress: Sendable {
    enum Stage {
        case end
        /// The exit and the end of all output pipes.
        case lastWords
    }

    private struct Waiter {
        let id: Int
        let stage: Stage
        /// Resumed with nil at the timeout.
        let continuation: CheckedContinuation<ChildProcess.Ending?, Never>
    }

    private struct State {
        var ending: ChildProcess.Ending?
        var usage: ChildProcess.Usage?
        var openPipes: Int
        var waiters: [Waiter] = []
        var lastWaiter = 0

        func ending(at stage: Stage) -> ChildProcess.Ending? {
            switch stage {
            case .end: ending
            case .lastWords: openPipes == 0 ? ending : nil
            }
        }

        mutating func wake() {
            let all = waiters
            waiters = []
            for waiter in all {
                if let ending = ending(at: waiter.stage) {
                    waiter.continuation.resume(returning: ending)
                } else {
                    waiters.append(waiter)
                }
            }
        }
    }

    private let pid: pid_t
    private let state: Mutex<State>

    init(pid: pid_t, pipes: Int) {
        self.pid = pid
        state = Mutex(State(openPipes: pipes))
    }

    var ending: ChildProcess.Ending? { state.withLock { $0.ending } }
    var usage: ChildProcess.Usage? { state.withLock { $0.usage } }

    /// Blocks until the child exits.
    func waitForEnd() {
        // The child stays a zombie until the lock is held, so that a signal cannot reach another process with a reused
        // pid.
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        state.withLock { state in
            var (status, usage) = (Int32(0), rusage())
            // Fails where this process ignores SIGCHLD: the exit status is then lost (wait(2)).
            let isKnown = wait4(pid, &status, 0, &usage) == pid
            // Equivalent to WIFEXITED, WEXITSTATUS and WTERMSIG (wait(2)); Swift does not import macros with arguments.
            let isExit = status & 0x7F == 0
            state.ending = !isKnown ? .exit(-1) : isExit ? .exit(status >> 8 & 0xFF) : .signal(status & 0x7F)
            state.usage = ChildProcess.Usage(
                userSeconds: usage.ru_utime.seconds, systemSeconds: usage.ru_stime.seconds)
            state.wake()
        }
    }

    func pipeHasEnded() {
        state.withLock { state in
            state.openPipes -= 1
            state.wake()
        }
    }

    func send(_ signal: Int32) {
        state.withLock { if $0.ending == nil { kill(pid, signal) } }
    }

    func wait(for stage: Stage, atMost patience: Duration) async -> ChildProcess.Ending? {
        var timeout: Task<Void, any Error>?
        defer { timeout?.cancel() }
        return await withCheckedContinuation { continuation in
            let waiter = state.withLock { state in
                if let ending = state.ending(at: stage) {
                    continuation.resume(returning: ending)
                    return Int?.none
                }
                state.lastWaiter += 1
                state.waiters.append(Waiter(id: state.lastWaiter, stage: stage, continuation: continuation))
                return state.lastWaiter
            }
            guard let waiter else { return }
            timeout = Task {
                try await Task.sleep(for: patience)
                giveUp(waiter)
            }
        }
    }

    private func giveUp(_ id: Int) {
        state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return }
            state.waiters.remove(at: index).continuation.resume(returning: nil)
        }
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1_000_000 }
}
