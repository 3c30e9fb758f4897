import CallVocabulary
import Determinism
import EventLoop
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession

/// Whole calls from phones that are online to phones that sleep, each woken by a push.
final class WakeWorkload: Workload {
    /// More sleepers than calls: a phone takes a moment to go to sleep after its call.
    private static let sleepersForEachPlace = 2

    let stages: [LoadStage]
    private(set) var underWay = 0

    private let environment: WorkloadEnvironment
    private let callers: PhonePool
    private let sleepers: SleepingPhones
    private let holds: HoldQueue<OnlineCall>
    private var choices: SeededGenerator
    private var outcomes: SeededGenerator
    /// Not from the plan's seed: a server elsewhere knows the calls of the last run.
    private var ids = SeededGenerator(seed: .random(in: .min ... .max))
    /// By the caller's number, and by the callee's.
    private var byCaller: [WakeCall?] = []
    private var bySleeper: [WakeCall?] = []
    private var pushes = 0
    private var reports = 0
    private var repeatedPushes = 0
    private var isClosed = false

    init(_ environment: WorkloadEnvironment) {
        self.environment = environment
        stages = environment.timed([
            .inviteResult, .invitePushAccepted, .invitePush, .pushReported, .inviteIncoming, .inviteRinging,
            .answerAnswered, .answerConnected, .hangupEnded,
        ])
        let online = environment.places + environment.share(of: environment.plan.sessions)
        callers = PhonePool(environment: environment)
        sleepers = SleepingPhones(environment: environment) { environment.identity(ofUser: online + $0) }
        holds = HoldQueue(loop: environment.loop, time: environment.plan.hold) { $0.hangUp() }
        choices = environment.generator(.phones)
        outcomes = environment.generator(.outcomes)
        byCaller = Array(repeating: nil, count: online)
        bySleeper = Array(repeating: nil, count: Self.sleepersForEachPlace * environment.places)
    }

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        callers.onEvent = { [unowned self] phone, event in
            callers.noteLoss(event, of: phone)
            byCaller[phone]?.call.happened(event, at: .caller)
        }
        sleepers.onEvent = { [unowned self] in happened($1, toSleeper: $0) }
        callers.open(count: byCaller.count) { [unowned self] result in
            guard case .success = result else { return completion(result) }
            sleepers.setUp(count: bySleeper.count, completion: completion)
        }
    }

    func begin(due: ContinuousClock.Instant) -> Bool {
        guard underWay < environment.places, sleepers.freeCount > 0, let caller = callers.take(&choices),
            let sleeper = sleepers.take(&choices)
        else { return false }
        underWay += 1
        let outcome = CallOutcome.random(answerRatio: environment.plan.answerRatio, using: &outcomes)
        let call = OnlineCall(
            id: CallID(random: &ids), caller: (caller, callers.phones[caller]),
            callee: (sleeper, sleepers.phones[sleeper].softphone), isCalleeWoken: true, outcome: outcome, due: due,
            environment: environment
        ) { [unowned self] in callHappened($0, $1) }
        let piece = WakeCall(call, due: due, recorder: environment.recorder)
        byCaller[caller] = piece
        bySleeper[sleeper] = piece
        call.place(to: environment.user(byCaller.count + sleeper))
        return true
    }

    var figures: [Figure] {
        [
            LoadFigure.Pushes.pushesReceived.figure(pushes), LoadFigure.Pushes.pushesReported.figure(reports),
            LoadFigure.Pushes.pushesRepeated.figure(repeatedPushes),
        ]
    }

    func endHeld() { holds.dueAll() }

    func close() {
        isClosed = true
        holds.removeAll()
        callers.close()
        sleepers.close()
        byCaller = []
        bySleeper = []
    }

    private func happened(_ event: WakeablePhone.Event, toSleeper sleeper: Int) {
        switch event {
        case .pushed: pushes += 1
        case .reportedToServer(_, nil): reports += 1
        case .woken, .notified, .reportedToSystem, .reportedToServer, .killed, .failed, .unreachable, .app, .asleep:
            break
        }
        guard let piece = bySleeper[sleeper] else { return }
        let problem = piece.happened(event)
        if case .woken(let push) = event, push.call == piece.call.id, piece.pushes > 1 { repeatedPushes += 1 }
        if let problem { return fail(piece, problem) }
        finishIfOver(piece)
    }

    private func callHappened(_ call: OnlineCall, _ happening: OnlineCall.Happening) {
        guard !isClosed, let piece = byCaller[call.caller], piece.call === call else { return }
        switch happening {
        case .connected: holds.add(call)
        case .ended:
            piece.hasEnded = true
            finishIfOver(piece)
        case .failed(let reason): fail(piece, reason)
        }
    }

    private func finishIfOver(_ piece: WakeCall) {
        guard piece.isOver, bySleeper[piece.call.callee] === piece else { return }
        release(piece)
        environment.recorder.completed()
    }

    private func fail(_ piece: WakeCall, _ reason: String) {
        guard bySleeper[piece.call.callee] === piece else { return }
        bySleeper[piece.call.callee] = nil
        environment.hangUp(piece.call.id, by: callers.phones[piece.call.caller]) { [self] in
            guard !isClosed else { return }
            release(piece)
            environment.recorder.failed(reason)
        }
    }

    private func release(_ piece: WakeCall) {
        byCaller[piece.call.caller] = nil
        bySleeper[piece.call.callee] = nil
        callers.release(piece.call.caller)
        sleepers.release(piece.call.callee)
        underWay -= 1
    }
}

@available(*, unavailable)
extension WakeWorkload: Sendable {}
