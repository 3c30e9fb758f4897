import CallVocabulary
import Logging
import PushClient
import PushCore
import PushVocabulary
import Synchronization

/// The push service as a server uses it: orders are queued, `ready` is answered by `transmit`, outcomes are counted.
///
/// Making wake tokens is the server's work: here they are a constant. The whole process is measured but for what this
/// driver itself does: looking through the events and making the next orders.
final class PushServiceRun: Sendable {
    private static let patience = Duration.seconds(120)

    private struct Progress {
        var queued = 0
        var ended = 0
        /// When the warm-up was over, and how many had ended by then.
        var start: (usage: OwnUsage, ended: Int)?
        /// CPU time of the driver itself since then.
        var driverSeconds = 0.0
        var result: Result<Sample, BenchmarkError>?
        var waiter: CheckedContinuation<Result<Sample, BenchmarkError>, Never>?
    }

    private let work: PushWork
    private let warmUp: Int
    private let progress = Mutex(Progress())
    /// While the run goes on.
    private let service = Mutex<PushService?>(nil)

    private init(work: PushWork) {
        self.work = work
        warmUp = work.size.tokens
    }

    /// One run, on connections of its own. Every token is pushed to once before it counts.
    static func run(target: PushTarget, work: PushWork) async throws -> Sample {
        let run = PushServiceRun(work: work)
        return try await run.run(target)
    }

    private func run(_ target: PushTarget) async throws -> Sample {
        let service = PushService(
            configuration: .init(apns: [target.endpoint(work)]), now: { .now() },
            mintWakeToken: { [wakeToken = work.wakeToken] _ in wakeToken },
            log: .silent
        ) { [self] in handle($0) }
        self.service.withLock { $0 = service }
        try service.start()
        let watch = Task { [self] in
            try await Task.sleep(for: Self.patience)
            finish(.failure(BenchmarkError("the push service was not done within \(Self.patience)")))
        }
        let first = min(work.window, warmUp + work.size.pushes)
        progress.withLock { $0.queued = first }
        for index in 0..<first { service.queue(work.order(index)) }
        let result = await withCheckedContinuation { continuation in
            let early = progress.withLock { progress in
                if progress.result == nil { progress.waiter = continuation }
                return progress.result
            }
            if let early { continuation.resume(returning: early) }
        }
        watch.cancel()
        let open = service.statistics.pools.first?.openConnections ?? 0
        await service.stop()
        self.service.withLock { $0 = nil }
        guard open == work.size.connections else {
            throw BenchmarkError("\(open) connections were open instead of \(work.size.connections)")
        }
        return try result.get()
    }

    /// On the push loop.
    private func handle(_ events: [PushEvent]) {
        guard let service = service.withLock({ $0 }) else { return }
        let began = OwnUsage.threadSeconds
        var ready: [PushID] = []
        var accepted = 0
        for event in events {
            switch event {
            case .ready(let push): ready.append(push)
            case .outcome(_, .accepted): accepted += 1
            case .outcome(_, let outcome):
                return finish(.failure(BenchmarkError("a push was not answered by 200: \(outcome)")))
            }
        }
        let orders = note(accepted).map(work.order)
        let share = OwnUsage.threadSeconds - began
        progress.withLock { if $0.start != nil { $0.driverSeconds += share } }
        for push in ready { service.transmit(push) }
        for order in orders { service.queue(order) }
    }

    /// - Returns: the pushes to be queued now.
    private func note(_ accepted: Int) -> Range<Int> {
        let total = warmUp + work.size.pushes
        let (next, start) = progress.withLock { progress in
            progress.ended += accepted
            if progress.start == nil, progress.ended >= warmUp { progress.start = (.now(), progress.ended) }
            let next = progress.queued..<min(progress.queued + accepted, total)
            progress.queued = next.upperBound
            return (next, progress.ended == total ? progress.start : nil)
        }
        if let start { finish(sample(from: start)) }
        return next
    }

    private func sample(from start: (usage: OwnUsage, ended: Int)) -> Result<Sample, BenchmarkError> {
        let count = warmUp + work.size.pushes - start.ended
        guard count > 0 else { return .failure(BenchmarkError("too few pushes to measure: send more")) }
        let driver = progress.withLock { $0.driverSeconds }
        return .success(start.usage.sample(until: .now(), count: count, without: driver))
    }

    private func finish(_ result: Result<Sample, BenchmarkError>) {
        let waiter = progress.withLock { progress -> CheckedContinuation<Result<Sample, BenchmarkError>, Never>? in
            guard progress.result == nil else { return nil }
            progress.result = result
            defer { progress.waiter = nil }
            return progress.waiter
        }
        waiter?.resume(returning: result)
    }
}
