import CallVocabulary
import Determinism
import EventLoop
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession

/// Calls that something is done to on purpose, among phones that no other call uses.
final class DisturbedWorkload: Workload {
    /// Each call ends within this, or it is a failure.
    private static let limit = Duration.seconds(20)

    let stages: [LoadStage] = []
    private(set) var underWay = 0

    private let environment: WorkloadEnvironment
    /// Callers and callees.
    private let online: PhonePool
    private let sleepers: SleepingPhones
    private var freeSleepers = FreeNumbers()
    private let deadlines: HoldQueue<DisturbedCall>
    private var choices: SeededGenerator
    private var faults: SeededGenerator
    private var deck: [CallFault] = []
    /// Not from the plan's seed: a server elsewhere knows the calls of the last run.
    private var ids = SeededGenerator(seed: .random(in: .min ... .max))
    private var byPhone: [DisturbedCall?]
    private var bySleeper: [DisturbedCall?]
    private var completed: [CallFault: Int] = [:]
    private var ends: [EndReason: Int] = [:]
    private var isClosed = false

    init(_ environment: WorkloadEnvironment) {
        self.environment = environment
        let count = 2 * environment.places
        online = PhonePool(environment: environment)
        sleepers = SleepingPhones(environment: environment) { environment.identity(ofUser: count + $0) }
        deadlines = HoldQueue(loop: environment.loop, time: Self.limit) {
            $0.fail("not over after \(Self.limit.components.seconds) s")
        }
        choices = environment.generator(.phones)
        faults = environment.generator(.faults)
        byPhone = Array(repeating: nil, count: count)
        bySleeper = Array(repeating: nil, count: count)
    }

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        online.onEvent = { [unowned self] in happened($1, to: $0) }
        sleepers.onEvent = { [unowned self] in bySleeper[$0]?.phoneHappened($1) }
        online.open(count: byPhone.count) { [unowned self] result in
            guard case .success = result else { return completion(result) }
            freeSleepers.add(bySleeper.indices)
            sleepers.setUp(count: bySleeper.count, completion: completion)
        }
    }

    func begin(due: ContinuousClock.Instant) -> Bool {
        // Drawn in any case: what is free does not change what comes next.
        let fault = nextFault()
        guard underWay < environment.places, online.freeCount >= 2,
            let sleeper = freeSleepers.take(&choices, where: sleepers.sleeps), let caller = online.take(&choices)
        else { return false }
        let callee: (Int, DisturbedCall.Callee)
        let user: Handle
        if fault.needsSleeper {
            callee = (sleeper, .asleep(sleepers.phones[sleeper]))
            user = environment.user(byPhone.count + sleeper)
        } else {
            freeSleepers.add(sleeper)
            guard let phone = online.take(&choices) else { return false }
            callee = (phone, .online(online.phones[phone]))
            user = online.user(phone)
        }
        underWay += 1
        let call = DisturbedCall(
            id: CallID(random: &ids), fault: fault, caller: (caller, online.phones[caller]), callee: callee,
            environment: environment
        ) { [unowned self] in isOver($0, $1) }
        byPhone[caller] = call
        if fault.needsSleeper { bySleeper[callee.0] = call } else { byPhone[callee.0] = call }
        deadlines.add(call)
        call.begin(to: user)
        return true
    }

    /// Each kind in its turn, in an order that is drawn anew each time: even a short run has all of them.
    private func nextFault() -> CallFault {
        if deck.isEmpty { deck = CallFault.allCases.shuffled(using: &faults) }
        return deck.removeLast()
    }

    private func happened(_ event: SoftphoneEvent, to phone: Int) {
        guard let call = byPhone[phone] else { return online.noteLoss(event, of: phone) }
        if !call.isCut { online.noteLoss(event, of: phone) }
        if phone == call.call.caller { call.callerHappened(event) } else { call.calleeHappened(event) }
    }

    private func isOver(_ disturbed: DisturbedCall, _ happening: LoadCall.Happening) {
        guard !isClosed else { return }
        let (call, fault) = (disturbed.call!, disturbed.fault)
        switch happening {
        case .connected: break
        case .ended:
            release(call, fault)
            completed[fault, default: 0] += 1
            if let end = call.end { ends[end, default: 0] += 1 }
            environment.recorder.completed()
        case .failed(let reason):
            environment.hangUp(call.id, by: online.phones[call.caller]) { [self] in
                guard !isClosed else { return }
                release(call, fault)
                environment.recorder.failed("\(fault.rawValue): \(reason)")
            }
        }
    }

    private func release(_ call: LoadCall, _ fault: CallFault) {
        byPhone[call.caller] = nil
        online.release(call.caller)
        if fault.needsSleeper {
            bySleeper[call.callee] = nil
            freeSleepers.add(call.callee)
        } else {
            byPhone[call.callee] = nil
            online.release(call.callee)
        }
        underWay -= 1
    }

    var figures: [Figure] {
        let faults = CallFault.allCases.map {
            LoadFigure.Work.faultName.figure(Double(completed[$0, default: 0]), of: $0.rawValue)
        }
        let reasons = ends.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            LoadFigure.Work.disturbedEndedReason.figure(Double($1), of: $0.rawValue)
        }
        return faults + reasons
    }

    func close() {
        isClosed = true
        deadlines.removeAll()
        online.close()
        sleepers.close()
        byPhone = []
        bySleeper = []
    }
}

@available(*, unavailable)
extension DisturbedWorkload: Sendable {}
