import EventLoop

/// One run of a contender on an event loop of its own: its counts, its end, and its time limit. Lives on its loop.
///
/// The pushes of the warm-up, in which every token is used once, are not measured.
final class PushRun {
    private static let patience = Duration.seconds(120)

    let loop: EventLoop
    /// Closes what the contender has opened. Called once.
    var close: () -> Void = {}
    /// Pushes answered by 200.
    private(set) var accepted = 0
    private(set) var isOver = false
    private let size: PushWork.Size
    private let onDone: (Result<Sample, BenchmarkError>) -> Void
    private var timer: LoopTimer?
    private var started = 0
    /// When the warm-up was over, and how many were accepted by then.
    private var start: (usage: OwnUsage, accepted: Int)?

    private init(
        loop: EventLoop, size: PushWork.Size, onDone: @escaping (Result<Sample, BenchmarkError>) -> Void
    ) {
        self.loop = loop
        self.size = size
        self.onDone = onDone
    }

    /// - Parameter begin: starts the contender, on the loop.
    static func measure(_ size: PushWork.Size, begin: @escaping @Sendable (PushRun) -> Void) async throws -> Sample {
        let loop = try EventLoop(name: "push")
        loop.start()
        let result = await withCheckedContinuation { continuation in
            loop.execute {
                let run = PushRun(loop: loop, size: size) { continuation.resume(returning: $0) }
                // Keeps the run alive until it is over.
                run.timer = LoopTimer(loop: loop) { run.fail("the pushes were not done within \(Self.patience)") }
                run.timer?.start(after: Self.patience)
                begin(run)
            }
        }
        await loop.stopAndWait()
        return try result.get()
    }

    private var total: Int { size.tokens + size.pushes }

    /// The number of the push to be sent next, counted as started once ``noteStart()`` is called; nil after the last.
    var next: Int? { started < total ? started : nil }

    func noteStart() { started += 1 }

    /// One was answered by 200.
    func noteAcceptance() { accepted += 1 }

    /// To be called after each push that is over: ends the run after the last.
    /// - Parameter connections: how many are open.
    func finishIfComplete(connections: @autoclosure () -> Int) {
        if start == nil, accepted >= size.tokens { start = (.now(), accepted) }
        guard accepted == total, let start else { return }
        guard start.accepted < total else { return fail("too few pushes to measure: send more") }
        let end = OwnUsage.now()
        let open = connections()
        guard open == size.connections else { return fail("\(open) connections were open, not \(size.connections)") }
        finish(.success(start.usage.sample(until: end, count: total - start.accepted)))
    }

    func fail(_ why: String) { finish(.failure(BenchmarkError(why))) }

    private func finish(_ result: Result<Sample, BenchmarkError>) {
        guard !isOver else { return }
        isOver = true
        // Not from within the timer's or the contender's own call.
        let run = LoopBound(self, on: loop)
        loop.execute { run.value.end() }
        onDone(result)
    }

    private func end() {
        close()
        close = {}
        timer = nil
    }
}

@available(*, unavailable)
extension PushRun: Sendable {}
