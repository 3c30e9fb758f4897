import EventLoop
import SoftphoneKit
import SoftphoneSession

/// All phone threads of a run. Any thread; one caller at a time. The threads end when it is released.
final class PhoneThreads: Sendable {
    private struct Member: Sendable {
        let runtime: SoftphoneRuntime
        let thread: LoopBound<PhoneThread>
    }

    private let members: [Member]
    let counters = RunCounters()

    /// - Throws: ``LoadError``, or `SystemError` when the process is out of descriptors.
    init(plan: LoadPlan, server: LoadServer) async throws {
        let counters = self.counters
        var members: [Member] = []
        for index in 0..<plan.threads {
            let runtime = try SoftphoneRuntime(name: "phones-\(index)", trust: server.trust, scheduling: .batch)
            let loop = runtime.loop
            let thread: LoopBound<PhoneThread> = try await loop.result { done in
                let environment = WorkloadEnvironment(
                    plan: plan, runtime: runtime, thread: index, threads: plan.threads, recorder: Recorder(),
                    tokens: server.tokens, url: server.url, simulatorFolder: server.simulatorFolder,
                    counters: counters, groups: server.groups)
                done(
                    Result {
                        try LoopBound(PhoneThread(environment, Workloads.all(environment)), on: loop)
                    })
            }
            members.append(Member(runtime: runtime, thread: thread))
        }
        self.members = members
    }

    /// Opens what has to be there before the load, on all threads side by side.
    func prepare() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for member in members {
                group.addTask {
                    try await member.thread.loop.result { done in
                        member.thread.value.prepare { done($0) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Gives ``prepare()`` up.
    func abort() async { await each { $0.abort() } }

    func begin(_ schedule: LoadSchedule) async throws {
        try await each { thread in Result { try thread.begin(schedule) } }.forEach { try $0.get() }
    }

    func stopBeginning(end: ContinuousClock.Instant) async {
        await each { $0.stopBeginning(end: end) }
    }

    /// The seconds that each thread has closed since the last call.
    func takeSeconds() async -> [[Recorder.Second]] { await each { $0.takeSeconds() } }

    /// When the last operation was over; nil unless all threads have nothing more to begin.
    func doneAt() async -> ContinuousClock.Instant? {
        let all = await each { $0.doneAt }
        return all.contains(nil) ? nil : all.compactMap { $0 }.max()
    }

    /// Ends at once what is held.
    func endHeld() async { await each { $0.endHeld() } }

    func underWay() async -> Int { await each { $0.underWay }.reduce(0, +) }
    func failures() async -> FailureCounts { await each { $0.failures }.reduce(into: FailureCounts()) { $0.add($1) } }

    /// Drops all connections.
    /// - Parameter end: what ended the time of the operations that are still under way.
    func finish(_ end: DrainEnd) async -> [ThreadResult] {
        let now = ContinuousClock.now
        return await each { $0.finish(at: now, end) }
    }

    @discardableResult
    private func each<Value: Sendable>(_ body: @escaping @Sendable (PhoneThread) -> Value) async -> [Value] {
        var values: [Value] = []
        for member in members {
            // Its loop lasts as long as its runtime.
            if let value = await member.thread.loop.run({ body(member.thread.value) }) { values.append(value) }
        }
        return values
    }
}

extension EventLoop {
    /// Runs `body` on the loop and waits until it calls what it is given, once.
    func result<Value: Sendable>(
        _ body: @escaping @Sendable (_ done: @escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let isRunning = execute { body { continuation.resume(with: $0) } }
            if !isRunning { continuation.resume(throwing: LoadError("the thread \(name) has ended")) }
        }
    }
}
