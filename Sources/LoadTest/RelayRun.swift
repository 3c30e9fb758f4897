import CallVocabulary
import EventLoop
import SoftphoneKit

/// One run of the relay scenario, on the fleet's loop: phones 2n and 2n + 1 are in a call with each other.
final class RelayRun {
    struct Result: Sendable {
        var calls = 0
        var relayed = 0
        var roundTrips = Latencies()
        var failures: [String: Int] = [:]
        var usage: UsageSpan
    }

    private let fleet: Fleet
    private let scenario: RelayScenario
    private let progress: LoadProgress
    private let completion: (Swift.Result<Result, any Error>) -> Void
    private let losses = Losses()
    private var pairs: [CallPair] = []
    private var nextPair = 0
    /// By pair: whether its call has come to stand, or to nothing.
    private var isSettled: [Bool]
    private var settledPairs = 0
    private var standing: [Int] = []
    private var time: MeasuredTime?

    private let candidates: CandidateNumbers
    /// By call and number: when the candidate was sent; nil while it is not under way.
    private var sentAt: [ContinuousClock.Instant?]
    private var underWay = 0
    private var relayed = 0
    private var roundTrips = Latencies()
    private var failures: [String: Int] = [:]

    init(
        fleet: Fleet, server: Int32, scenario: RelayScenario, progress: @escaping LoadProgress,
        completion: @escaping (Swift.Result<Result, any Error>) -> Void
    ) {
        self.fleet = fleet
        self.scenario = scenario
        self.progress = progress
        self.completion = completion
        candidates = CandidateNumbers(count: scenario.window)
        sentAt = Array(repeating: nil, count: scenario.calls * scenario.window)
        isSettled = Array(repeating: false, count: scenario.calls)
        pairs = (0..<scenario.calls).map { number in
            CallPair(
                caller: fleet.phones[2 * number], callee: fleet.phones[2 * number + 1],
                calleeUser: Fleet.user(2 * number + 1), loop: fleet.loop
            ) { [unowned self] _, happening in pairHappened(number, happening) }
        }
        time = MeasuredTime(
            loop: fleet.loop, server: server, duration: scenario.duration,
            progress: { [unowned self] in progress("\(standing.count) calls, \(relayed) relayed") },
            onEnd: { [unowned self] in if underWay == 0 { time?.hasDrained() } },
            onOver: { [unowned self] in isOver($0) })
    }

    /// Sets the calls up, then sends. Stays in memory until it is over: the fleet's events hold it.
    func begin(concurrency: Int) {
        fleet.onEvent = { [self] in happened($0, $1) }
        for _ in 0..<min(concurrency, pairs.count) { placeNext() }
    }

    // MARK: Setting up

    private func placeNext() {
        guard nextPair < pairs.count else { return }
        nextPair += 1
        pairs[nextPair - 1].place()
    }

    private func pairHappened(_ number: Int, _ happening: CallPair.Happening) {
        switch happening {
        case .passed: return
        case .connected: standing.append(number)
        case .failed(let reason): failures[reason, default: 0] += 1
        case .ended: preconditionFailure("nobody has hung up")
        }
        // One that stood may still fail later.
        guard !isSettled[number] else { return }
        isSettled[number] = true
        settledPairs += 1
        guard settledPairs == pairs.count else { return placeNext() }
        startSending()
    }

    private func startSending() {
        time?.begin()
        for call in standing {
            for number in 0..<scenario.window { send(number, in: call) }
        }
    }

    // MARK: Sending

    private func send(_ number: Int, in call: Int) {
        guard let id = pairs[call].call else { return }
        sentAt[call * scenario.window + number] = .now
        underWay += 1
        fleet.phones[2 * call].sendCandidates(CallCandidates(call: id, candidates: [candidates[number]]))
    }

    private func happened(_ index: Int, _ event: SoftphoneEvent) {
        let isCaller = index.isMultiple(of: 2)
        if case .candidates(let received) = event {
            if time?.isMeasuring == true { relayed += received.candidates.count }
            if isCaller {
                for candidate in received.candidates { isBack(candidate, in: index / 2) }
            } else {
                fleet.phones[index].sendCandidates(received)
            }
            return
        }
        losses.note(event)
        if isCaller { pairs[index / 2].callerHappened(event) } else { pairs[index / 2].calleeHappened(event) }
    }

    private func isBack(_ candidate: RawJSON, in call: Int) {
        guard let number = candidates.number(of: candidate), let sent = sentAt[call * scenario.window + number] else {
            failures["candidates that nobody sent", default: 0] += 1
            return
        }
        sentAt[call * scenario.window + number] = nil
        underWay -= 1
        if time?.isMeasuring == true { roundTrips.record(sent.duration(to: .now)) }
        if time?.isLoading == true {
            send(number, in: call)
        } else if underWay == 0 {
            time?.hasDrained()
        }
    }

    // MARK: The end

    private func isOver(_ usage: Swift.Result<UsageSpan, any Error>) {
        if underWay > 0 { failures["candidates that did not come back", default: 0] += underWay }
        failures.merge(losses.reasons) { $0 + $1 }
        completion(
            usage.map {
                Result(
                    calls: standing.count, relayed: relayed, roundTrips: roundTrips, failures: failures, usage: $0)
            })
    }
}

@available(*, unavailable)
extension RelayRun: Sendable {}

/// Candidates that carry a number, as the port: small, and of a form that browsers send.
struct CandidateNumbers {
    private static let head = Array(#"{"candidate":"candidate:1 1 udp 2122260223 192.0.2.1 "#.utf8)
    private static let tail = Array(#" typ host","sdpMid":"0"}"#.utf8)
    private static let firstPort = 50_000
    private static let portDigits = 5

    private let made: [RawJSON]

    /// - Parameter count: up to 10,000.
    init(count: Int) {
        precondition((1...10_000).contains(count), "the number does not fit a port of five digits")
        made = (0..<count).map { RawJSON(bytes: Self.head + Array("\(Self.firstPort + $0)".utf8) + Self.tail) }
    }

    subscript(number: Int) -> RawJSON { made[number] }

    /// The number that `candidate` carries; nil for what was not made here.
    func number(of candidate: RawJSON) -> Int? {
        guard candidate.bytes.count == Self.head.count + Self.portDigits + Self.tail.count else { return nil }
        var port = 0
        for digit in candidate.bytes[Self.head.count..<Self.head.count + Self.portDigits] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            port = port * 10 + Int(digit - UInt8(ascii: "0"))
        }
        let number = port - Self.firstPort
        return made.indices.contains(number) ? number : nil
    }
}
