import CallVocabulary
import Determinism
import EventLoop
import SoftphoneKit
import SoftphoneSession

/// Candidates and session descriptions in standing calls. An operation is one of them, until its arrival.
final class RelayWorkload: Workload {
    /// One in so many is an offer, as of a call that is renegotiated; the others are candidates.
    private static let offerEach = 8
    /// What a call is meant to have under way, both directions together.
    private static let windowOfCall = 8
    /// More in one direction could outrun the events that the server keeps for a resume.
    private static let largestWindow = 64
    /// How many calls are tried when those drawn have their windows full.
    private static let tries = 8

    let stages: [LoadStage] = [.message]
    private(set) var underWay = 0
    private var descriptions = 0

    private let environment: WorkloadEnvironment
    private let pool: PhonePool
    private let standing: StandingCalls
    private let candidates = CandidateNumbers(count: RelayWorkload.largestWindow)
    private var choices: SeededGenerator
    /// By sending phone: the numbers that are not under way.
    private var free: [[Int]] = []
    /// By sending phone and number: when what has it was due; nil while it is not under way.
    private var due: [[ContinuousClock.Instant?]] = []

    init(_ environment: WorkloadEnvironment) {
        self.environment = environment
        pool = PhonePool(environment: environment)
        standing = StandingCalls(pool: pool)
        choices = environment.generator(.outcomes)
    }

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        pool.onEvent = { [unowned self] in happened($1, to: $0) }
        let calls = (environment.places + Self.windowOfCall - 1) / Self.windowOfCall
        let phones = 2 * calls + environment.share(of: environment.plan.sessions)
        free = Array(repeating: Array(0..<Self.largestWindow), count: phones)
        due = Array(repeating: Array(repeating: nil, count: Self.largestWindow), count: phones)
        pool.open(count: phones) { [unowned self] opened in
            guard case .success = opened else { return completion(opened) }
            standing.setUp(count: calls, completion: completion)
        }
    }

    func begin(due: ContinuousClock.Instant) -> Bool {
        guard !standing.calls.isEmpty else { return false }
        for _ in 0..<Self.tries {
            let call = standing.calls[Int.random(in: standing.calls.indices, using: &choices)]
            let sender = Bool.random(using: &choices) ? call.caller : call.callee
            guard !call.isOver, let number = free[sender].popLast() else { continue }
            underWay += 1
            self.due[sender][number] = due
            send(number, from: pool.phones[sender], in: call.id)
            return true
        }
        return false
    }

    private func send(_ number: Int, from phone: Softphone, in call: CallID) {
        guard Int.random(in: 0..<Self.offerEach, using: &choices) == 0 else {
            return phone.sendCandidates(CallCandidates(call: call, candidates: [candidates[number]]))
        }
        let custom = RawJSON(bytes: Array("\(number)".utf8))
        let me = LoopBound(self, on: environment.loop)
        phone.submit(
            .update(CallUpdate(call: call, kind: .offer, sdp: SampleDescription.audio, custom: custom))
        ) { result in
            if case .failure(let error) = result { me.value.environment.recorder.fault("an offer: \(error)") }
        }
    }

    var figures: [Figure] { [LoadFigure.Work.descriptions.figure(descriptions)] }

    func close() {
        standing.removeAll()
        pool.close()
    }

    private func happened(_ event: SoftphoneEvent, to phone: Int) {
        switch event {
        case .candidates(let received):
            return arrived(received.candidates.map { candidates.number(of: $0) }, in: received.call, at: phone)
        case .update(let update):
            let isWhole = update.kind == .offer && update.sdp == SampleDescription.audio
            descriptions += 1
            let number = update.custom.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) }
            return arrived([isWhole ? number : nil], in: update.call, at: phone)
        case .incoming, .offer, .state, .ended, .merged, .peer, .latePush, .connection, .draining: break
        }
        pool.noteLoss(event, of: phone)
        standing.happened(event, to: phone)
    }

    /// - Parameter numbers: nil for what is not as it was sent.
    private func arrived(_ numbers: [Int?], in id: CallID, at phone: Int) {
        guard let place = standing.placeOfPhone[phone], standing.calls[place].id == id else { return }
        let call = standing.calls[place]
        let sender = phone == call.caller ? call.callee : call.caller
        for number in numbers {
            guard let number, due[sender].indices.contains(number), let due = due[sender][number] else {
                environment.recorder.fault("a message that nobody sent so, or that came twice")
                continue
            }
            self.due[sender][number] = nil
            free[sender].append(number)
            underWay -= 1
            environment.recorder.passed(.message, since: due)
            environment.recorder.completed()
        }
    }
}

@available(*, unavailable)
extension RelayWorkload: Sendable {}
