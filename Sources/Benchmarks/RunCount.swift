/// Counts the pushes of one run on one loop. Those of the warm-up, in which every token is used once, are not measured.
struct RunCount {
    private let warmUp: Int
    private let total: Int
    private var started = 0
    private(set) var accepted = 0
    /// When the warm-up was over, and how many were accepted by then.
    private var start: (usage: OwnUsage, accepted: Int)?

    init(_ size: PushWork.Size) {
        warmUp = size.tokens
        total = size.tokens + size.pushes
    }

    /// The number of the push to be sent next, counted as started once ``noteStart()`` says so; nil when there is none.
    var next: Int? { started < total ? started : nil }

    mutating func noteStart() { started += 1 }

    /// One was answered by 200.
    mutating func noteAcceptance() { accepted += 1 }

    /// To be asked after each push that is over: its figures, once all are.
    mutating func result() -> Result<Sample, BenchmarkError>? {
        if start == nil, accepted >= warmUp { start = (.now(), accepted) }
        guard accepted == total, let start else { return nil }
        guard start.accepted < total else { return .failure(BenchmarkError("too few pushes to measure: send more")) }
        return .success(start.usage.sample(until: .now(), count: total - start.accepted))
    }
}
