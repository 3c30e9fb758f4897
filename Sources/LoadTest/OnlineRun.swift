import EventLoop
import SoftphoneKit

/// One run of the online scenario, on the fleet's loop: phones 2n and 2n + 1 call each other.
final class OnlineRun {
    struct Result: Sendable {
        var calls = 0
        var stages: [CallStage: Latencies] = [:]
        var failures: [String: Int] = [:]
        var usage: UsageSpan
    }

    /// A pair whose calls fail this often in a row gives up: the load is not to turn into a storm of refusals.
    private static let failuresInARow = 10

    private let fleet: Fleet
    private let completion: (Swift.Result<Result, any Error>) -> Void
    private let losses = Losses()
    private var pairs: [CallPair] = []
    private var failedInARow: [Int]
    private var underWay = 0
    private var calls = 0
    private var stages: [CallStage: Latencies] = [:]
    private var failures: [String: Int] = [:]
    private var time: MeasuredTime?

    init(
        fleet: Fleet, server: Int32, scenario: OnlineScenario, progress: @escaping LoadProgress,
        completion: @escaping (Swift.Result<Result, any Error>) -> Void
    ) {
        self.fleet = fleet
        self.completion = completion
        failedInARow = Array(repeating: 0, count: scenario.callsAtOnce)
        pairs = (0..<scenario.callsAtOnce).map { number in
            CallPair(
                caller: fleet.phones[2 * number], callee: fleet.phones[2 * number + 1],
                calleeUser: Fleet.user(2 * number + 1), loop: fleet.loop
            ) { [unowned self] pair, happening in pairHappened(number, pair, happening) }
        }
        time = MeasuredTime(
            loop: fleet.loop, server: server, duration: scenario.duration,
            progress: { [unowned self] in
                progress("\(calls) calls, \(underWay) under way, \(failures.values.reduce(0, +)) failed")
            },
            onEnd: { [unowned self] in if underWay == 0 { time?.hasDrained() } },
            onOver: { [unowned self] in isOver($0) })
    }

    /// Stays in memory until it is over: the fleet's events hold it.
    func begin() {
        fleet.onEvent = { [self] index, event in
            losses.note(event)
            let pair = pairs[index / 2]
            if index.isMultiple(of: 2) { pair.callerHappened(event) } else { pair.calleeHappened(event) }
        }
        time?.begin()
        for pair in pairs { place(pair) }
    }

    private func place(_ pair: CallPair) {
        underWay += 1
        pair.place()
    }

    private func pairHappened(_ number: Int, _ pair: CallPair, _ happening: CallPair.Happening) {
        switch happening {
        case .passed(let stage, let latency):
            if time?.isMeasuring == true { stages[stage, default: Latencies()].record(latency) }
        case .connected: pair.hangUp()
        case .ended:
            if time?.isMeasuring == true { calls += 1 }
            failedInARow[number] = 0
            isFree(number, pair)
        case .failed(let reason):
            failures[reason, default: 0] += 1
            failedInARow[number] += 1
            isFree(number, pair)
        }
    }

    private func isFree(_ number: Int, _ pair: CallPair) {
        underWay -= 1
        if time?.isLoading == true, failedInARow[number] < Self.failuresInARow {
            place(pair)
        } else if underWay == 0 {
            time?.hasDrained()
        }
    }

    private func isOver(_ usage: Swift.Result<UsageSpan, any Error>) {
        if underWay > 0 { failures["calls that did not come to an end", default: 0] += underWay }
        failures.merge(losses.reasons) { $0 + $1 }
        completion(usage.map { Result(calls: calls, stages: stages, failures: failures, usage: $0) })
    }
}

@available(*, unavailable)
extension OnlineRun: Sendable {}
