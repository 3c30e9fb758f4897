import EventLoop

/// One run of a contender on its own event loop: counts, end and time limit. Confined to its loop.
///
/// The warm-up, which uses every token once, is not measured.
final class PushRun {
    private static let patience = Duration.seconds(120)

    let loop: EventLoop
    /// Closes the contender's connections. Called once.
    var close: () -> Void = {}
    /// Pushes with status 200.
    private(set) var accepted = 0
    private(set) var isOver = false
    private let size: PushWork.Size
    private let onDone: (Result<Sample, BenchmarkError>) -> Void
    private var timer: LoopTimer?
    private var started = 0
    /// The end of the warm-up, and the pushes accepted until then.
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
                // Retains the run until it is over.
                run.timer = LoopTimer(loop: loop) { run.fail("the pushes were not done within \(Self.patience)") }
                run.timer?.start(after: Self.patience)
                begin(run)
            }
        }
        await loop.stopAndWait()
        return try result.get()
    }

    private var total: Int { size.tokens + size.pushes }

    /// The number of the next push; nil after the last. ``noteStart()`` counts it as started.
    var next: Int? { started < total ? started : nil }

    func noteStart() { started += 1 }

    func noteAcceptance() { accepted += 1 }

    /// Called after each completed push: ends the run after the last.
    /// - Parameter connections: the number of open connections.
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
        // Not within a call of the timer or the contender.
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
