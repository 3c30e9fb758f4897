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
    private let run: PushRun
    private let requests: [PushPreparation.Prepared]
    private let work: PushWork
    private var pool: PushPool?
    /// A ring of the requests' numbers, from the one that is to be sent next to the one that was answered last: a
    /// server that lets one connection wait must not have a push in the pool twice.
    private var order: [Int]

    private init(_ run: PushRun, requests: [PushPreparation.Prepared], work: PushWork) {
        self.run = run
        self.requests = requests
        self.work = work
        order = Array(requests.indices)
    }

    /// One run, on connections of its own. Every token is pushed to once before it counts.
    static func run(target: PushTarget, work: PushWork) async throws -> Sample {
        let requests = try (0..<work.round).map { index in
            let order = work.order(index)
            return PushPreparation.Prepared(try PushRequest(order, wakeToken: work.wakeToken), order)
        }
        let route = try PushRoute(target.endpoint(work))
        return try await PushRun.measure(work.size) { run in
            PushPoolRun(run, requests: requests, work: work).begin(route)
        }
    }

    /// Its pool keeps it alive until that is closed.
    private func begin(_ route: PushRoute) {
        pool = PushPool(endpoint: route, loop: run.loop, now: { .now() }, log: .silent) { [self] in handle($0) }
        run.close = {
            self.pool?.close()
            self.pool = nil
        }
        for _ in 0..<work.window { queueNext() }
    }

    private func handle(_ event: PushEvent) {
        guard !run.isOver else { return }
        switch event {
        case .ready(let push): pool?.transmit(push)
        case .outcome(let push, .accepted):
            order[run.accepted % order.count] = work.index(of: push)
            run.noteAcceptance()
            run.finishIfComplete(connections: pool?.statistics.openConnections ?? 0)
            queueNext()
        case .outcome(_, let outcome): run.fail("a push was not answered by 200: \(outcome)")
        }
    }

    private func queueNext() {
        guard let next = run.next else { return }
        run.noteStart()
        pool?.queue(requests[order[next % order.count]])
    }
}

@available(*, unavailable)
extension PushPoolRun: Sendable {}
