import CLibUV
import Glibc
import Synchronization

/// One libuv loop on one thread of its own.
///
/// Timers, sockets, lws contexts and state machines of a loop are used on its thread only. Other threads reach it
/// through ``execute(_:)`` or, for messages, a bounded ``Mailbox``. The class itself is safe to share.
public final class EventLoop: SerialExecutor, Sendable {
    /// The thread's name, shown by `ps -L` and debuggers; cut to 15 bytes.
    public let name: String
    private let scheduling: ThreadScheduling

    private struct Inbox {
        var jobs: [@Sendable () -> Void] = []
        /// The loop waits, or will wait without another check for jobs.
        var isWaiting = false
    }

    /// The most checks for jobs in one turn, before the loop handles sockets and timers again.
    private static let mostRounds = 8

    private let inbox = Mutex(Inbox())
    /// Set under `inbox`: no job is accepted afterwards.
    @usableFromInline let stopped = Atomic<Bool>(false)
    /// The loop's thread while it runs; 0 before and after.
    private let thread = Atomic<UInt>(0)
    private let stopRequested = Atomic<Bool>(false)
    private let isStarted = Atomic<Bool>(false)
    // Proof for the pointers: set once in init, freed on the loop's own thread after the loop has ended. Between the
    // two only `uv_async_send`, documented as safe from any thread, is called from outside, under `inbox`.
    private nonisolated(unsafe) let loop: UnsafeMutablePointer<uv_loop_t>
    private nonisolated(unsafe) let wakeUp: UnsafeMutablePointer<uv_async_t>
    private nonisolated(unsafe) let turnEnd: UnsafeMutablePointer<uv_prepare_t>
    // Proof: all three are touched on the loop's thread only, which `add`, `remove`, `atEndOfTurn` and `inNextTurn` check.
    private nonisolated(unsafe) var turns: [LoopTurn.Callback] = []
    private nonisolated(unsafe) var nextTurnJobs: [() -> Void] = []
    /// Each job with the number of the turn in which it was added. Loop's thread only.
    private nonisolated(unsafe) var readingJobs: [(turn: UInt64, job: () -> Void)] = []
    private nonisolated(unsafe) var turnEndJobs: [() -> Void] = []
    private let turnClock = TurnClock()
    /// The number of turns so far. Loop's thread only.
    public private(set) nonisolated(unsafe) var turnNumber: UInt64 = 0
    /// The read buffer of all sockets of this loop: libuv borrows it and returns it within one callback.
    nonisolated(unsafe) let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)

    /// Done once for the process: libuv writes without `MSG_NOSIGNAL`, so SIGPIPE from a closed peer would end the
    /// process.
    private static let ignoresBrokenPipes: Bool = {
        signal(SIGPIPE, SIG_IGN)
        return true
    }()

    /// - Parameter scheduling: how the kernel schedules the thread.
    /// - Throws: ``SystemError`` when the process is out of descriptors.
    public init(name: String, scheduling: ThreadScheduling = .ordinary) throws {
        precondition(Self.ignoresBrokenPipes)
        self.name = name
        self.scheduling = scheduling
        loop = .allocate(capacity: 1)
        wakeUp = .allocate(capacity: 1)
        turnEnd = .allocate(capacity: 1)
        do {
            try SystemError.check(uv_loop_init(loop), "uv_loop_init")
            do {
                try SystemError.check(uv_async_init(loop, wakeUp, onWakeUp), "uv_async_init")
            } catch {
                uv_loop_close(loop)
                throw error
            }
        } catch {
            deallocate()
            // Init failed: `deinit` must not expect an unstarted loop.
            isStarted.store(true, ordering: .relaxed)
            throw error
        }
        wakeUp.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        // Neither call can fail (libuv 1.44). libuv runs prepare handles right before it waits, the newest first. This
        // is the loop's first handle, so no other code of this thread runs between it and the wait.
        uv_prepare_init(loop, turnEnd)
        turnEnd.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        uv_prepare_start(turnEnd, onTurnEnd)
    }

    /// A thread that ran has freed everything already.
    deinit {
        guard !isStarted.load(ordering: .relaxed) else { return }
        freeLoop()
    }

    /// The `uv_loop_t *`, for a C library that runs on an existing loop. Loop's thread only.
    public var rawLoop: UnsafeMutableRawPointer { UnsafeMutableRawPointer(loop) }

    var uvLoop: UnsafeMutablePointer<uv_loop_t> { loop }

    /// Milliseconds on a monotonic clock, as of the current turn. Loop's thread only.
    public var milliseconds: UInt64 { uv_now(loop) }

    /// Starts the thread. Jobs added before run first.
    ///
    /// The thread keeps the loop alive until ``stop()``.
    public func start() {
        let isFirst = isStarted.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged
        precondition(isFirst, "the loop \(name) starts once")
        var id = pthread_t()
        let failure = pthread_create(&id, nil, runLoop, Unmanaged.passRetained(self).toOpaque())
        precondition(failure == 0, "no thread for the loop \(name): \(String(cString: strerror(failure)))")
        pthread_detach(id)
    }

    /// Runs `job` on the loop's thread, after the jobs added before. Any thread.
    ///
    /// The queue has no bound: it is for control and for wake-ups. Messages go through a ``Mailbox``.
    /// - Returns: false when the loop has stopped; the job is then dropped.
    @discardableResult
    public func execute(_ job: @escaping @Sendable () -> Void) -> Bool {
        let isCurrent = isCurrent
        return inbox.withLock { inbox in
            guard let mustWake = append(job, to: &inbox, isCurrent: isCurrent) else { return false }
            if mustWake { uv_async_send(wakeUp) }
            return true
        }
    }

    /// As ``execute(_:)``, but leaves it to the caller to wake the loop: a caller that holds a lock does so after it.
    /// - Returns: whether ``wake()`` must follow; nil when the loop has stopped.
    @usableFromInline func executeUnwoken(_ job: @escaping @Sendable () -> Void) -> Bool? {
        let isCurrent = isCurrent
        return inbox.withLock { inbox in append(job, to: &inbox, isCurrent: isCurrent) }
    }

    @usableFromInline func wake() {
        inbox.withLock { _ in
            // Freed soon after the loop has stopped, which runs the job without a wake-up.
            guard !hasStopped else { return }
            uv_async_send(wakeUp)
        }
    }

    /// - Returns: whether the loop must be woken; nil when it has stopped.
    private func append(_ job: @escaping @Sendable () -> Void, to inbox: inout Inbox, isCurrent: Bool) -> Bool? {
        guard !hasStopped else { return nil }
        inbox.jobs.append(job)
        defer { inbox.isWaiting = false }
        // A job from the loop's own thread needs no wake-up: the loop checks for jobs before it waits.
        return inbox.isWaiting && !isCurrent
    }

    /// Whether the loop takes no jobs any more: it ends, or has ended. Any thread.
    @inlinable public var hasStopped: Bool { stopped.load(ordering: .acquiring) }

    /// Runs `job` once at the end of this turn, before the loop waits.
    ///
    /// For work that several events of one turn share, such as writing queued bytes. Jobs may add jobs. They run after
    /// every ``LoopTurn``, each of which is called again after them. Loop's thread only.
    public func atEndOfTurn(_ job: @escaping () -> Void) {
        assertIsCurrent()
        turnEndJobs.append(job)
    }

    /// Runs `job` once, after the loop has handled its sockets and timers. For work that yields to other events; a job
    /// of ``execute(_:)`` from this thread may run before them. Loop's thread only.
    public func inNextTurn(_ job: @escaping () -> Void) {
        assertIsCurrent()
        nextTurnJobs.append(job)
        uv_async_send(wakeUp)
    }

    /// Runs `job` once at the end of a turn, after all bytes that have arrived by now are read. For deadlines: after
    /// the process was stopped, messages that arrived in time are still in the kernel. Loop's thread only.
    public func afterReading(_ job: @escaping () -> Void) {
        assertIsCurrent()
        readingJobs.append((turnNumber, job))
        uv_async_send(wakeUp)
    }

    /// The durations of all turns so far. Any thread.
    public var statistics: LoopStatistics { turnClock.statistics }

    /// How busy the loop is. Any thread.
    public var load: LoopLoad { turnClock.load }

    /// Marks the start of a turn; each callback that may be the first of a turn calls it. The time of a C library
    /// before its callback is not counted: libuv reports the end of its wait only at the cost of another system call
    /// (`UV_METRICS_IDLE_TIME` in 1.44). Loop's thread only.
    public func turnBegan() {
        guard !turnClock.isRunning else { return }
        assertIsCurrent()
        turnClock.begin()
    }

    func add(_ turn: LoopTurn.Callback) {
        assertIsCurrent()
        turns.append(turn)
    }

    func remove(_ turn: LoopTurn.Callback) {
        assertIsCurrent()
        turns.removeAll { $0 === turn }
    }

    /// Runs `body` on the loop's thread and returns its result. Never call it from a loop's thread.
    /// - Returns: nil when the loop has stopped.
    public func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result? {
        await withCheckedContinuation { continuation in
            if !execute({ continuation.resume(returning: body()) }) { continuation.resume(returning: nil) }
        }
    }

    /// Requests the end of the loop. Jobs added before still run; open handles are closed. Any thread.
    public func stop() {
        execute { [self] in
            stopRequested.store(true, ordering: .relaxed)
            uv_stop(loop)
        }
    }

    /// Ends the loop and waits until its thread has released everything. A loop that never started drops its jobs and
    /// accepts no more.
    public func stopAndWait() async {
        guard isStarted.load(ordering: .relaxed) else {
            let dropped = inbox.withLock { inbox in
                stopped.store(true, ordering: .releasing)
                defer { inbox.jobs = [] }
                return inbox.jobs
            }
            // Released outside the lock: the release of a job may run a `deinit` that uses the loop.
            return withExtendedLifetime(dropped) {}
        }
        await withCheckedContinuation { continuation in
            finished.withLock { finished in
                if finished.isOver { continuation.resume() } else { finished.waiters.append(continuation) }
            }
            stop()
        }
    }

    private struct Finished {
        var isOver = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }
    private let finished = Mutex(Finished())

    /// Whether the caller is on the loop's thread.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Traps off the loop's thread, in release builds too: a race here corrupts calls.
    public func assertIsCurrent(_ function: StaticString = #function) {
        precondition(isCurrent, "\(function) belongs on the thread of the loop \(name)")
    }

    // MARK: Holds

    // Proof: touched on the loop's thread only, which the functions below check.
    private nonisolated(unsafe) var holds = 0

    /// Keeps the thread running after ``stop()`` until a matching ``endHold()``: for a C library that needs several
    /// turns to close its handles.
    public func beginHold() {
        assertIsCurrent()
        holds += 1
    }

    public func endHold() {
        assertIsCurrent()
        precondition(holds > 0, "endHold without beginHold on the loop \(name)")
        holds -= 1
        if holds == 0, stopRequested.load(ordering: .relaxed) { uv_stop(loop) }
    }

    // MARK: SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        // The caller does not retain an executor, and the job may release the last actor on this one.
        let alive = Unmanaged.passRetained(self)
        defer { alive.release() }
        let job = UnownedJob(job)
        let accepted = execute { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        precondition(accepted, "an actor outlived its loop \(name)")
    }

    public func checkIsolated() {
        assertIsCurrent()
    }

    // MARK: On the thread

    fileprivate func runToEnd() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        pthread_setname_np(pthread_self(), String(name.prefix(15)))
        scheduling.applyToThisThread()
        while !stopRequested.load(ordering: .relaxed) || holds > 0 { uv_run(loop, UV_RUN_DEFAULT) }
        runJobs()
        // From here on `execute` returns false, and no other thread uses `wakeUp`.
        inbox.withLock { _ in stopped.store(true, ordering: .releasing) }
        runJobs()
        freeLoop()
        turnEndJobs = []
        nextTurnJobs = []
        readingJobs = []
        thread.store(0, ordering: .relaxed)
        let waiters = finished.withLock { finished in
            finished.isOver = true
            return finished.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func freeLoop() {
        // The callback would use this object, which may be in `deinit`.
        uv_prepare_stop(turnEnd)
        // Waits: a name lookup in progress cannot be cancelled. A handle that is opened meanwhile is closed too.
        while uv_loop_close(loop) == UV_EBUSY.rawValue {
            uv_walk(loop, closeHandle, nil)
            uv_run(loop, UV_RUN_ONCE)
        }
        deallocate()
    }

    private func deallocate() {
        wakeUp.deallocate()
        turnEnd.deallocate()
        loop.deallocate()
        readBuffer.deallocate()
    }

    fileprivate func endTurn() {
        turnBegan()
        turnNumber &+= 1
        runReadingJobs()
        finishTurn()
        turnClock.end()
    }

    /// Runs the jobs added at least two turns ago: the turn of a job ends before the sockets are polled, the next one
    /// after.
    private func runReadingJobs() {
        guard !readingJobs.isEmpty else { return }
        let due = readingJobs.prefix { turnNumber &- $0.turn >= 2 }
        readingJobs.removeFirst(due.count)
        for entry in due { entry.job() }
        if !readingJobs.isEmpty { uv_async_send(wakeUp) }
    }

    /// Runs the jobs that jobs add within the same turn, for at most ``mostRounds`` rounds.
    private func finishTurn() {
        for _ in 0..<Self.mostRounds {
            let mayGoOn = callAtEnd()
            guard runJobs(beforeWaiting: !mayGoOn) || mayGoOn else { return }
        }
        callAtEnd()
        uv_async_send(wakeUp)
    }

    fileprivate func wokenUp() {
        turnBegan()
        let jobs = nextTurnJobs
        nextTurnJobs = []
        runJobs()
        for job in jobs { job() }
    }

    /// - Returns: whether a ``LoopTurn`` must be called again: it is new, or jobs ran after it.
    @discardableResult
    private func callAtEnd() -> Bool {
        let called = turns
        for turn in called { turn.onEnd?() }
        let hasJobs = !turnEndJobs.isEmpty
        runTurnEndJobs()
        return !turns.isEmpty && (hasJobs || turns.last !== called.last)
    }

    private func runTurnEndJobs() {
        while !turnEndJobs.isEmpty {
            let jobs = turnEndJobs
            turnEndJobs = []
            for job in jobs { job() }
        }
    }

    /// - Parameter waits: when there are no jobs, marks the loop as waiting, so that the next job wakes it.
    /// - Returns: false when there were no jobs.
    @discardableResult
    private func runJobs(beforeWaiting waits: Bool = false) -> Bool {
        let jobs = inbox.withLock { inbox in
            let jobs = inbox.jobs
            inbox.jobs = []
            if waits, jobs.isEmpty { inbox.isWaiting = true }
            return jobs
        }
        for job in jobs { job() }
        return !jobs.isEmpty
    }
}

/// The thread's body. Balances the `passRetained` in `start()`.
private func runLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Set by `start()`, never nil.
    let loop = Unmanaged<EventLoop>.fromOpaque(context!).takeRetainedValue()
    loop.runToEnd()
    return nil
}

private func onWakeUp(_ handle: UnsafeMutablePointer<uv_async_t>?) {
    // Set in `init`; the running thread retains the loop.
    Unmanaged<EventLoop>.fromOpaque(handle!.pointee.data).takeUnretainedValue().wokenUp()
}

private func onTurnEnd(_ handle: UnsafeMutablePointer<uv_prepare_t>?) {
    // Set in `init`; the running thread retains the loop.
    Unmanaged<EventLoop>.fromOpaque(handle!.pointee.data).takeUnretainedValue().endTurn()
}

private func closeHandle(_ handle: UnsafeMutablePointer<uv_handle_t>?, _: UnsafeMutableRawPointer?) {
    if uv_is_closing(handle) == 0 { uv_close(handle, nil) }
}
