import CallVocabulary
import EventLoop
import Logging
import PushClient
import PushCore
import PushVocabulary

/// The push client: its pool with the machine, the provider token, streams, retries and outcomes, over HTTP/2 on its
/// loop. Its requests are made beforehand, as h2load's are, and each push is cleared as soon as it is announced.
/// Lives on its loop.
final class PushPoolRun {
    private static let patience = Duration.seconds(120)

    private let loop: EventLoop
    private let requests: [PushPreparation.Prepared]
    private let work: PushWork
    private let onDone: (Result<Sample, BenchmarkError>) -> Void
    private var pool: PushPool?
    private var timer: LoopTimer?
    private var count: RunCount
    /// A ring of the requests' numbers, from the one that is to be sent next to the one that was answered last: a
    /// server that lets one connection wait must not have a push in the pool twice.
    private var order: [Int]
    private var isOver = false

    private init(
        loop: EventLoop, requests: [PushPreparation.Prepared], work: PushWork,
        onDone: @escaping (Result<Sample, BenchmarkError>) -> Void
    ) {
        self.loop = loop
        self.requests = requests
        self.work = work
        count = RunCount(work.size)
        order = Array(requests.indices)
        self.onDone = onDone
    }

    /// One run, on connections of its own. Every token is pushed to once before it counts.
    static func run(target: PushTarget, work: PushWork) async throws -> Sample {
        let requests = try (0..<work.round).map { index in
            let order = work.order(index)
            return PushPreparation.Prepared(try PushRequest(order, wakeToken: work.wakeToken), order)
        }
        let route = try PushRoute(target.endpoint(work))
        let loop = try EventLoop(name: "push")
        loop.start()
        let result = await withCheckedContinuation { continuation in
            loop.execute {
                let run = PushPoolRun(loop: loop, requests: requests, work: work) { result in
                    continuation.resume(returning: result)
                }
                run.begin(route)
            }
        }
        await loop.stopAndWait()
        return try result.get()
    }

    /// Its timer and its pool keep it alive until it has finished.
    private func begin(_ route: PushRoute) {
        timer = LoopTimer(loop: loop) { [self] in
            finish(.failure(BenchmarkError("the push client was not done within \(Self.patience)")))
        }
        timer?.start(after: Self.patience)
        pool = PushPool(endpoint: route, loop: loop, now: { .now() }, log: .silent) { [self] in handle($0) }
        for _ in 0..<work.window { queueNext() }
    }

    private func handle(_ event: PushEvent) {
        guard !isOver else { return }
        switch event {
        case .ready(let push): pool?.transmit(push)
        case .outcome(let push, .accepted):
            order[count.accepted % order.count] = work.index(of: push)
            count.noteAcceptance()
            if let result = count.result() { return finish(result) }
            queueNext()
        case .outcome(_, let outcome):
            finish(.failure(BenchmarkError("a push was not answered by 200: \(outcome)")))
        }
    }

    private func queueNext() {
        guard let next = count.next else { return }
        count.noteStart()
        pool?.queue(requests[order[next % order.count]])
    }

    private func finish(_ result: Result<Sample, BenchmarkError>) {
        guard !isOver else { return }
        isOver = true
        let open = pool?.statistics.openConnections
        // Not from within the pool's or the timer's own call.
        let run = LoopBound(self, on: loop)
        loop.execute { run.value.end() }
        guard open == work.size.connections else {
            return onDone(.failure(BenchmarkError("\(open ?? 0) connections were open, not \(work.size.connections)")))
        }
        onDone(result)
    }

    private func end() {
        pool?.close()
        pool = nil
        timer = nil
    }
}

@available(*, unavailable)
extension PushPoolRun: Sendable {}
