import CallCore
import CallMonitor
import CallStore
import CallVocabulary
import Dispatch
import SignalProtocol
import StoreInterface
import Synchronization

/// Runs calls from the bytes of requests to the bytes of the resulting frames, with a store.
final class CallsRun {
    struct Outcome {
        var calls = 0
        /// CPU time by component.
        var seconds: [CallsBenchmark.Part: Double] = [:]
        var records = 0
        var messages = 0
        var commits = 0
    }

    /// The events per acknowledgement, as of a phone.
    private static let eventsAcknowledged: UInt64 = 16
    /// After this many laps, each lap forgets as many calls as it makes.
    private static let warmUpLaps = 13

    private let committer: GroupCommitter
    private let scene = CoreScene()
    private let monitor: CallMonitor
    private let callers: Range<CoreScene.Phone>
    private let callees: Range<CoreScene.Phone>
    /// The costs of components on this thread.
    private var costs: [CallsBenchmark.Part: Cost] = [:]
    private var frame: [UInt8] = []
    /// The number of records of the scene before the calls.
    private let unstored: UInt64

    init(folder: String, pairs: Int) throws {
        committer = try GroupCommitter(store: try CallStore.open(folder: folder))
        callers = scene.addPhones(pairs)
        callees = scene.addPhones(pairs)
        monitor = CallMonitor(now: scene.time)
        unstored = UInt64(scene.counts.records)
    }

    /// Makes calls for this many seconds after an uncounted warm-up, and closes the store.
    /// - Throws: ``BenchmarkError`` when a call does not end as expected.
    func measure(for seconds: Double) async throws -> Outcome {
        do {
            let outcome = try await laps(for: seconds)
            await committer.close()
            return outcome
        } catch {
            await committer.close()
            throw error
        }
    }

    private func laps(for seconds: Double) async throws -> Outcome {
        for _ in 0..<Self.warmUpLaps { try lap() }
        await committer.flush()
        costs = [:]
        let before = (counts: scene.counts, commits: committer.statistics.commits, connected: scene.callsConnected)
        let began = OwnUsage.processSeconds
        let (calls, own) = try count(for: seconds)
        await committer.flush()
        let all = OwnUsage.processSeconds - began
        guard scene.callsConnected - before.connected == calls, scene.liveCalls == 0, monitor.liveCalls == 0,
            scene.counts.refusals == 0, scene.counts.pushes == 0, scene.limitsHit == 0
        else { throw BenchmarkError("\(scene.callsConnected - before.connected) of \(calls) calls were connected") }
        let statistics = committer.statistics
        guard statistics.behind == 0, statistics.records == UInt64(scene.counts.records) - unstored else {
            throw BenchmarkError(
                "\(statistics.records) records are in the store, \(statistics.behind) not in its tables")
        }
        var outcome = Outcome(calls: calls)
        outcome.seconds = costs.mapValues(\.seconds)
        // The CPU time of other threads: only the store has one.
        outcome.seconds[.store] = max(0, all - own)
        outcome.records = scene.counts.records - before.counts.records
        outcome.messages = scene.counts.messages - before.counts.messages
        outcome.commits = Int(statistics.commits - before.commits)
        return outcome
    }

    /// - Returns: the number of calls, and this thread's CPU seconds, including those of no component.
    private func count(for seconds: Double) throws -> (calls: Int, own: Double) {
        let (began, own) = (ContinuousClock.now, OwnUsage.threadSeconds)
        var calls = 0
        repeat {
            try lap()
            calls += callers.count
        } while (ContinuousClock.now - began) / .seconds(1) < seconds
        return (calls, OwnUsage.threadSeconds - own)
    }

    private func lap() throws {
        let calls = zip(callers, callees).map { scene.requests($0, $1) }
        for step in calls[0].indices { try turn(calls.map { $0[step] }) }
        try turn(
            (callers.lowerBound..<callees.upperBound).compactMap { phone in
                scene.acknowledgement(phone, after: Self.eventsAcknowledged).map { (phone, $0) }
            })
        add(to: .decide) { scene.pause() }
    }

    /// Processes simultaneous messages of phones, and everything that follows.
    private func turn(_ said: [(phone: CoreScene.Phone, message: ClientMessage)]) throws {
        let frames = said.map { CodecBenchmark.frame($0.message) }
        var messages: [ClientMessage] = []
        messages.reserveCapacity(frames.count)
        try add(to: .read) {
            for frame in frames { messages.append(try SignalDecoder.decode(frame: frame).get()) }
        }
        var (records, outputs) = add(to: .decide) {
            for (index, message) in messages.enumerated() { scene.say(said[index].phone, message) }
            return scene.endTurn()
        }
        if !records.isEmpty { try commit(records) }
        add(to: .write) {
            for case .send(_, let message) in outputs {
                frame.removeAll(keepingCapacity: true)
                SignalEncoder.encode(message, now: scene.time, into: &frame)
            }
        }
        add(to: .show) { monitor.apply(records, now: scene.time) { _ in } }
        scene.note(records, outputs)
        // Releasing the messages is part of the cost.
        add(to: .read) { messages = [] }
        add(to: .decide) { (records, outputs) = ([], []) }
    }

    private func add<Result>(to part: CallsBenchmark.Part, _ body: () throws -> Result) rethrows -> Result {
        var (cost, result) = (costs[part] ?? Cost(), Result?.none)
        try cost.add(0) { result = try body() }
        costs[part] = cost
        // Set by the body, which did not throw.
        return result!
    }

    /// Returns once the records are durable.
    private func commit(_ records: [StoreRecord]) throws {
        let done = DispatchSemaphore(value: 0)
        let failure = Mutex<StoreFailure?>(nil)
        let isTaken = committer.commit(batch: records) { result in
            if case .failure(let why) = result { failure.withLock { $0 = why } }
            done.signal()
        }
        guard isTaken else { throw BenchmarkError("the store takes no more") }
        done.wait()
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}
