import CallVocabulary
import EventLoop
import Logging
import PushClient
import PushCore
import PushVocabulary

/// The push client: its pool with the machine, provider token, streams, retries and outcomes, over HTTP/2. Its requests
/// are prepared, like h2load's. Each push is cleared as soon as it is announced. Confined to its loop.
final class PushPoolRun {
    private let run: PushRun
    private let requests: [PushPreparation.Prepared]
    private let work: PushWork
    private var pool: PushPool?
    /// A ring of request numbers, from the next to send to the last answered. It prevents a second copy of a push in
    /// the pool when the server delays one connection.
    private var order: [Int]

    private init(_ run: PushRun, requests: [PushPreparation.Prepared], work: PushWork) {
        self.run = run
        self.requests = requests
        self.work = work
        order = Array(requests.indices)
    }

    /// One run, on new connections. Each token is used once before the measurement.
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

    /// The pool retains it until it is closed.
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
        case .outcome(_, let outcome): run.fail("a push did not get status 200: \(outcome)")
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
