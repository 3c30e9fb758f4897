import CallVocabulary
import Determinism
import EventLoop
import SoftphoneKit
import SoftphoneSession

/// Cuts connections and resumes sessions. An operation is one phone in a call: its connection is cut, the other side
/// sends candidates, and it ends when the session is resumed and all of them have arrived in order. The other side
/// sends a request after its candidates, whose answer shows that they have reached the server.
final class ChurnWorkload: Workload {
    /// What is sent to a phone while its connection is cut.
    private static let sentMeanwhile = 3

    private struct Cut {
        let due: ContinuousClock.Instant
        var isResumed = false
        /// Whether the candidates have reached the server. Unproven ones are sent again when a phone resumes its
        /// session.
        var isProven = false
        /// How many candidates have come.
        var arrived = 0
    }

    let stages: [LoadStage] = [.resume]
    private(set) var underWay = 0

    private let environment: WorkloadEnvironment
    private let pool: PhonePool
    private let standing: StandingCalls
    private let candidates = CandidateNumbers(count: ChurnWorkload.sentMeanwhile)
    private var choices: SeededGenerator
    /// The calls of which neither phone is cut, in no order.
    private var whole: [Int] = []
    /// By phone.
    private var cuts: [Cut?] = []
    private var isClosed = false

    init(_ environment: WorkloadEnvironment) {
        self.environment = environment
        pool = PhonePool(environment: environment)
        standing = StandingCalls(pool: pool)
        choices = environment.generator(.outcomes)
    }

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        pool.onEvent = { [unowned self] in happened($1, to: $0) }
        let phones = 2 * environment.places + environment.share(of: environment.plan.sessions)
        cuts = Array(repeating: nil, count: phones)
        pool.open(count: phones) { [unowned self] opened in
            guard case .success = opened else { return completion(opened) }
            standing.setUp(count: environment.places) { [unowned self] stands in
                whole = Array(standing.calls.indices)
                completion(stands)
            }
        }
    }

    func begin(due: ContinuousClock.Instant) -> Bool {
        guard !whole.isEmpty else { return false }
        whole.swapAt(Int.random(in: whole.indices, using: &choices), whole.count - 1)
        let call = standing.calls[whole.removeLast()]
        let isCaller = Bool.random(using: &choices)
        let phone = isCaller ? call.caller : call.callee
        let other = isCaller ? call.callee : call.caller
        underWay += 1
        cuts[phone] = Cut(due: due)
        pool.phones[phone].cutConnection()
        for number in 0..<Self.sentMeanwhile {
            pool.phones[other].sendCandidates(CallCandidates(call: call.id, candidates: [candidates[number]]))
        }
        prove(call.id, sentBy: other, to: phone)
        return true
    }

    /// Has the server answer something behind the candidates.
    private func prove(_ call: CallID, sentBy other: Int, to phone: Int) {
        let me = LoopBound(self, on: environment.loop)
        pool.phones[other].submit(.get(call)) { result in
            guard !me.value.isClosed else { return }
            if case .failure(let error) = result { return me.value.failed(phone, "call.get: \(error)") }
            me.value.cuts[phone]?.isProven = true
            me.value.finishIfWhole(phone)
        }
    }

    func close() {
        // Requests that are pending fail now, and what they were for is gone.
        isClosed = true
        standing.removeAll()
        pool.close()
    }

    private func happened(_ event: SoftphoneEvent, to phone: Int) {
        guard !isClosed else { return }
        switch event {
        case .connection(let change): connectionChanged(change, event, of: phone)
        case .candidates(let received): arrived(received.candidates, at: phone)
        case .incoming, .offer, .state, .ended, .merged, .update, .peer, .latePush, .draining:
            standing.happened(event, to: phone)
        }
    }

    private func connectionChanged(_ change: ConnectionChange, _ event: SoftphoneEvent, of phone: Int) {
        guard cuts[phone]?.isResumed == false, let due = cuts[phone]?.due else {
            return pool.noteLoss(event, of: phone)
        }
        switch change {
        // Not after its backoff: that would be the phone's time, not the server's.
        case .down: pool.phones[phone].start()
        case .resumed:
            environment.recorder.passed(.resume, since: due)
            cuts[phone]?.isResumed = true
            finishIfWhole(phone)
        case .up: failed(phone, "the session was not resumed")
        case .gone(let reason): failed(phone, "resume: \(reason)")
        case .offline: failed(phone, "resume: went offline")
        }
    }

    private func arrived(_ received: CandidateList, at phone: Int) {
        for candidate in received {
            guard let count = cuts[phone]?.arrived else { return }
            guard candidates.number(of: candidate) == count else {
                return failed(phone, "an event was missed, came twice or out of order")
            }
            cuts[phone]?.arrived = count + 1
        }
        finishIfWhole(phone)
    }

    private func finishIfWhole(_ phone: Int) {
        guard let cut = cuts[phone], cut.isResumed, cut.isProven, cut.arrived == Self.sentMeanwhile else { return }
        isOver(phone)
        environment.recorder.completed()
    }

    private func failed(_ phone: Int, _ reason: String) {
        guard cuts[phone] != nil else { return }
        isOver(phone)
        environment.recorder.failed(reason)
    }

    private func isOver(_ phone: Int) {
        cuts[phone] = nil
        underWay -= 1
        if let place = standing.placeOfPhone[phone], !standing.calls[place].isOver { whole.append(place) }
    }
}

@available(*, unavailable)
extension ChurnWorkload: Sendable {}
