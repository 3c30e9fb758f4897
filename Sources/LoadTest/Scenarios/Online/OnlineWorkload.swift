import CallVocabulary
import Determinism
import EventLoop
import SoftphoneKit
import SoftphoneSession

/// Whole calls between phones that are online. Who calls whom is drawn among all phones that are free.
final class OnlineWorkload: Workload {
    let stages: [LoadStage] = [
        .inviteResult, .inviteIncoming, .inviteRinging, .answerAnswered, .answerConnected, .hangupEnded,
    ]
    private(set) var underWay = 0

    private let environment: WorkloadEnvironment
    private let recorder: Recorder
    private let places: Int
    private let answerRatio: Double
    private let pool: PhonePool
    private let holds: HoldQueue<OnlineCall>
    private var choices: SeededGenerator
    private var outcomes: SeededGenerator
    /// Not from the plan's seed: a server elsewhere knows the calls of the last run.
    private var ids = SeededGenerator(seed: .random(in: .min ... .max))
    /// By phone: its call.
    private var calls: [OnlineCall?] = []
    private var isClosed = false

    init(_ environment: WorkloadEnvironment) {
        self.environment = environment
        recorder = environment.recorder
        places = environment.places
        answerRatio = environment.plan.answerRatio
        pool = PhonePool(environment: environment)
        holds = HoldQueue(loop: environment.loop, time: environment.plan.hold) { $0.hangUp() }
        choices = environment.generator(.phones)
        outcomes = environment.generator(.outcomes)
    }

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        pool.onEvent = { [unowned self] in happened($1, to: $0) }
        let count = 2 * places + environment.share(of: environment.plan.sessions)
        calls = Array(repeating: nil, count: count)
        pool.open(count: count, completion: completion)
    }

    func begin(due: ContinuousClock.Instant) -> Bool {
        guard underWay < places, pool.freeCount >= 2, let caller = pool.take(&choices),
            let callee = pool.take(&choices)
        else { return false }
        underWay += 1
        let outcome = CallOutcome.random(answerRatio: answerRatio, using: &outcomes)
        let call = OnlineCall(
            id: CallID(random: &ids), caller: caller, callee: callee, pool: pool, outcome: outcome, due: due
        ) { [unowned self] in callHappened($0, $1) }
        calls[caller] = call
        calls[callee] = call
        call.place(to: pool.user(callee))
        return true
    }

    func endHeld() { holds.dueAll() }

    func close() {
        isClosed = true
        holds.removeAll()
        pool.close()
        calls = []
    }

    private func happened(_ event: SoftphoneEvent, to phone: Int) {
        pool.noteLoss(event, of: phone)
        calls[phone]?.happened(event, to: phone)
    }

    private func callHappened(_ call: OnlineCall, _ happening: OnlineCall.Happening) {
        guard !isClosed else { return }
        switch happening {
        case .connected: holds.add(call)
        case .ended:
            release(call)
            recorder.completed()
        case .failed(let reason):
            environment.hangUp(call.id, by: pool.phones[call.caller]) { [self] in
                guard !isClosed else { return }
                release(call)
                recorder.failed(reason)
            }
        }
    }

    private func release(_ call: OnlineCall) {
        calls[call.caller] = nil
        calls[call.callee] = nil
        pool.release(call.caller)
        pool.release(call.callee)
        underWay -= 1
    }
}

@available(*, unavailable)
extension OnlineWorkload: Sendable {}
