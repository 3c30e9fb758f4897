import CallVocabulary
import Determinism
import EventLoop
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession

/// Whole calls from phones that are online. A callee is a phone that is online (`online`) or asleep (`wake`), or many
/// devices of one user or of a group's members (`fanout`).
final class CallWorkload: Workload {
    /// A phone takes a moment to go to sleep after its call.
    private static let sleepersPerPlace = 2

    let stages: [LoadStage]
    private(set) var underWay = 0

    private let environment: WorkloadEnvironment
    private var plan: LoadPlan { environment.plan }
    /// The devices of one callee.
    private let width: Int
    private let isGroup: Bool
    private let callers: PhonePool
    /// Callee by callee, its devices; one of the two.
    private let online: PhonePool?
    private let sleepers: SleepingPhones?
    private let holds: HoldQueue<LoadCall>
    private var choices: SeededGenerator
    private var outcomes: SeededGenerator
    /// Not from the plan's seed: a running server knows the calls of the previous run.
    private var ids = SeededGenerator(seed: .random(in: .min ... .max))
    private var byCaller: [LoadCall?]
    private var byCallee: [LoadCall?]
    private var free = FreeNumbers()
    private var (legs, pushes, reports, repeatedPushes) = (0, 0, 0, 0)
    private var isClosed = false

    init(_ environment: WorkloadEnvironment) {
        self.environment = environment
        let plan = environment.plan
        let isFanOut = plan.scenario == .fanout
        let areAsleep = plan.scenario == .wake || isFanOut && plan.fanOutAsleep
        width = isFanOut ? plan.fanOut : 1
        isGroup = isFanOut && plan.fanOutKind == .members
        stages = environment.timed(Self.stages(isFanOut: isFanOut, areAsleep: areAsleep))
        // Sessions besides those at work call and are called now and then, if their phones are online.
        let besides = environment.share(of: plan.sessions)
        let calleesBesides = plan.scenario == .online ? besides / 2 : 0
        let callerCount = environment.places + besides - calleesBesides
        let calleeCount = environment.places * (plan.scenario == .wake ? Self.sleepersPerPlace : 1) + calleesBesides
        callers = PhonePool(environment: environment)
        let (width, isGroup) = (self.width, self.isGroup)
        let identity: (Int) -> PhoneIdentity = { device in
            isGroup
                ? environment.identity(ofUser: callerCount + device)
                : environment.identity(device % width, ofUser: callerCount + device / width)
        }
        online = areAsleep ? nil : PhonePool(environment: environment, identity: identity)
        sleepers = areAsleep ? SleepingPhones(environment: environment, identity: identity) : nil
        holds = HoldQueue(loop: environment.loop, time: plan.hold) { $0.hangUp() }
        choices = environment.generator(.phones)
        outcomes = environment.generator(.outcomes)
        byCaller = Array(repeating: nil, count: callerCount)
        byCallee = Array(repeating: nil, count: calleeCount)
    }

    private static func stages(isFanOut: Bool, areAsleep: Bool) -> [LoadStage] {
        if isFanOut {
            return [.inviteResult, .inviteRefused, .firstRing]
                + (areAsleep ? [.lastPushAccepted, .lastRing, .lastOnline] : [.lastTold, .lastRing])
                + [
                    .inviteRinging, .inviteAnswered, .answerAnswered, .answerConnected, .answerTold, .othersTold,
                    .hangupEnded,
                ]
        }
        return [.inviteResult, .inviteRefused] + (areAsleep ? [.invitePushAccepted, .invitePush, .pushReported] : [])
            + [.inviteIncoming, .inviteRinging, .answerAnswered, .answerConnected, .hangupEnded]
    }

    // MARK: Before the load

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        callers.onEvent = { [unowned self] caller, event in
            callers.noteLoss(event, of: caller)
            byCaller[caller]?.callerHappened(event)
        }
        online?.onEvent = { [unowned self] device, event in
            online?.noteLoss(event, of: device)
            byCallee[device / width]?.deviceHappened(event, leg: device % width)
        }
        sleepers?.onEvent = { [unowned self] in happened($1, toSleeper: $0) }
        callers.open(count: byCaller.count) { [unowned self] result in
            guard case .success = result else { return completion(result) }
            openDevices { [unowned self] result in
                guard case .success = result else { return completion(result.mapError { explained($0) }) }
                free.add(byCallee.indices)
                guard isGroup else { return completion(.success(())) }
                environment.counters.expect(byCallee.count)
                setGroups(from: 0, completion)
            }
        }
    }

    private func openDevices(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        online?.open(count: byCallee.count * width, completion: completion)
        sleepers?.setUp(count: byCallee.count * width, completion: completion)
    }

    /// With the limit of the server to raise, if it refused the devices.
    private func explained(_ error: any Error) -> any Error {
        guard width > 1, !isGroup, "\(error)".contains("devices") else { return error }
        return LoadError(
            "\(error) (for \(width) devices of one user, the server's limits.devices_per_user has to be \(width) or "
                + "more)"
        )
    }

    private func setGroups(from callee: Int, _ completion: @escaping (Result<Void, any Error>) -> Void) {
        guard callee < byCallee.count else { return completion(.success(())) }
        guard let groups = environment.groups else {
            return completion(.failure(LoadError("a group is set by the admin API: say where the server has it")))
        }
        let first = byCaller.count + callee * width
        groups.set(
            group(callee), members: (0..<width).map { environment.user(first + $0) }, on: environment.loop
        ) { [weak self] result in
            guard let self, !isClosed else { return }
            guard case .success = result else { return completion(result) }
            environment.counters.settle()
            setGroups(from: callee + 1, completion)
        }
    }

    /// Within the characters of a handle.
    private func group(_ callee: Int) -> Handle { Handle("\(environment.user(callee))-group")! }

    // MARK: Calls

    func begin(due: ContinuousClock.Instant) -> Bool {
        guard underWay < environment.places, let callee = takeCallee() else { return false }
        guard let caller = callers.take(&choices) else {
            free.add(callee)
            return false
        }
        underWay += 1
        let isFanOut = plan.scenario == .fanout
        let call = LoadCall(
            id: CallID(random: &ids), caller: (caller, callers.phones[caller]),
            callee: (callee, (0..<width).map { phone(callee * width + $0) }),
            answering: Int.random(in: 0..<width, using: &choices), areWoken: sleepers != nil,
            outcome: isFanOut ? .answered : .random(answerRatio: plan.answerRatio, using: &outcomes), stages: stages,
            due: due, environment: environment
        ) { [unowned self] in callHappened($0, $1) }
        byCaller[caller] = call
        byCallee[callee] = call
        call.invite(isGroup ? .group(group(callee).text) : .user(environment.user(byCaller.count + callee)))
        return true
    }

    /// A callee all of whose devices are asleep, if they are to be woken.
    private func takeCallee() -> Int? {
        guard let sleepers else { return free.take(&choices) }
        let width = self.width
        return free.take(&choices) { (($0 * width)..<(($0 + 1) * width)).allSatisfy(sleepers.sleeps) }
    }

    private func phone(_ device: Int) -> Softphone {
        // One of the two is there.
        online?.phones[device] ?? sleepers!.phones[device].softphone
    }

    private func happened(_ event: WakeablePhone.Event, toSleeper device: Int) {
        let (call, leg) = (byCallee[device / width], device % width)
        switch event {
        case .pushed: pushes += 1
        case .reportedToServer(_, nil): reports += 1
        case .woken(let push):
            if let call, call.id == push.call, call.hasPush(leg) { repeatedPushes += 1 }
        case .notified, .reportedToSystem, .reportedToServer, .workerSent, .killed, .failed, .unreachable, .app,
            .asleep:
            break
        }
        call?.phoneHappened(event, leg: leg)
    }

    private func callHappened(_ call: LoadCall, _ happening: LoadCall.Happening) {
        guard !isClosed else { return }
        switch happening {
        case .connected: holds.add(call)
        case .ended:
            if environment.recorder.counts(.now) { legs += width }
            release(call)
            environment.recorder.completed()
        case .failed(let reason):
            environment.hangUp(call.id, by: callers.phones[call.caller]) { [self] in
                guard !isClosed else { return }
                release(call)
                environment.recorder.failed(reason)
            }
        }
    }

    private func release(_ call: LoadCall) {
        byCaller[call.caller] = nil
        byCallee[call.callee] = nil
        callers.release(call.caller)
        free.add(call.callee)
        underWay -= 1
    }

    var figures: [Figure] {
        (plan.scenario == .fanout ? [LoadFigure.Work.legs.figure(legs)] : [])
            + (sleepers == nil
                ? []
                : [
                    LoadFigure.Pushes.pushesReceived.figure(pushes), LoadFigure.Pushes.pushesReported.figure(reports),
                    LoadFigure.Pushes.pushesRepeated.figure(repeatedPushes),
                ])
    }

    func endHeld() { holds.dueAll() }

    func close() {
        isClosed = true
        holds.removeAll()
        callers.close()
        online?.close()
        sleepers?.close()
        byCaller = []
        byCallee = []
    }
}

@available(*, unavailable)
extension CallWorkload: Sendable {}
