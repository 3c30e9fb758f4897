import CallVocabulary
import Determinism
import EventLoop
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession

/// Calls to many devices at once, of one user or of a group's members. Each place has a caller and devices of its own,
/// and one call at a time.
final class FanOutWorkload: Workload {
    let stages: [LoadStage]
    private(set) var underWay = 0

    private let environment: WorkloadEnvironment
    /// How many devices a call reaches.
    private let width: Int
    private let callers: PhonePool
    /// Place by place, the devices one after the other; one of the two.
    private let online: PhonePool?
    private let sleepers: SleepingPhones?
    private let holds: HoldQueue<FanOutCall>
    private var choices: SeededGenerator
    /// Not from the plan's seed: a server elsewhere knows the calls of the last run.
    private var ids = SeededGenerator(seed: .random(in: .min ... .max))
    /// By place.
    private var calls: [FanOutCall?]
    private var freePlaces: [Int] = []
    private var legs = 0
    private var isClosed = false

    init(_ environment: WorkloadEnvironment) {
        self.environment = environment
        let plan = environment.plan
        width = plan.fanOut
        stages = environment.timed(
            [.inviteResult, .firstRing]
                + (plan.fanOutAsleep ? [.lastPushAccepted, .lastRing, .lastOnline] : [.lastTold, .lastRing])
                + [
                    .inviteRinging, .inviteAnswered, .answerAnswered, .answerConnected, .answerTold, .othersTold,
                    .hangupEnded,
                ])
        callers = PhonePool(environment: environment)
        let identity = Self.identities(environment)
        online = plan.fanOutAsleep ? nil : PhonePool(environment: environment, identity: identity)
        sleepers = plan.fanOutAsleep ? SleepingPhones(environment: environment, identity: identity) : nil
        holds = HoldQueue(loop: environment.loop, time: plan.hold) { $0.hangUp() }
        choices = environment.generator(.phones)
        calls = Array(repeating: nil, count: environment.places)
    }

    private static func callerCount(_ environment: WorkloadEnvironment) -> Int {
        environment.places + environment.share(of: environment.plan.sessions)
    }

    /// Who the devices are, in the order of the places.
    private static func identities(_ environment: WorkloadEnvironment) -> (Int) -> PhoneIdentity {
        let first = callerCount(environment)
        let width = environment.plan.fanOut
        switch environment.plan.fanOutKind {
        case .devices: return { environment.identity($0 % width, ofUser: first + $0 / width) }
        case .members: return { environment.identity(ofUser: first + $0) }
        }
    }

    // MARK: Before the load

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        callers.onEvent = { [unowned self] caller, event in
            callers.noteLoss(event, of: caller)
            if calls.indices.contains(caller) { calls[caller]?.callerHappened(event) }
        }
        online?.onEvent = { [unowned self] device, event in
            online?.noteLoss(event, of: device)
            calls[device / width]?.deviceHappened(event, leg: device % width, of: online?.phones[device])
        }
        sleepers?.onEvent = { [unowned self] device, event in
            calls[device / width]?.phoneHappened(event, leg: device % width)
        }
        callers.open(count: Self.callerCount(environment)) { [unowned self] result in
            guard case .success = result else { return completion(result) }
            openDevices { [unowned self] result in
                guard case .success = result else { return completion(result.mapError { explained($0) }) }
                if environment.plan.fanOutKind == .members { environment.opening.expect(calls.count) }
                setGroups(from: 0, completion)
            }
        }
    }

    private func openDevices(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        let count = calls.count * width
        online?.open(count: count, completion: completion)
        sleepers?.setUp(count: count, completion: completion)
    }

    /// What a server has to allow, where the devices did not get in.
    private func explained(_ error: any Error) -> any Error {
        guard environment.plan.fanOutKind == .devices, "\(error)".contains("devices") else { return error }
        return LoadError(
            "\(error) (for \(width) devices of one user, the server's limits.devices_per_user has to be \(width) or more)"
        )
    }

    private func setGroups(from place: Int, _ completion: @escaping (Result<Void, any Error>) -> Void) {
        guard environment.plan.fanOutKind == .members, place < calls.count else {
            freePlaces = Array(calls.indices)
            return completion(.success(()))
        }
        guard let groups = environment.groups else {
            return completion(
                .failure(LoadError("a group is set by the admin API: say where the server has it")))
        }
        let first = Self.callerCount(environment) + place * width
        groups.set(
            group(place), members: (0..<width).map { environment.user(first + $0) }, on: environment.loop
        ) { [weak self] result in
            guard let self, !isClosed else { return }
            guard case .success = result else { return completion(result) }
            environment.opening.settled()
            setGroups(from: place + 1, completion)
        }
    }

    private func group(_ place: Int) -> Handle {
        // Within what a handle may be.
        Handle("\(environment.user(place))-group")!
    }

    private func target(_ place: Int) -> CallTarget {
        switch environment.plan.fanOutKind {
        case .devices: .user(environment.user(Self.callerCount(environment) + place))
        case .members: .group(group(place).text)
        }
    }

    // MARK: Calls

    func begin(due: ContinuousClock.Instant) -> Bool {
        guard let index = freePlaces.indices.first(where: { isReady(freePlaces[$0]) }) else { return false }
        let place = freePlaces.remove(at: index)
        underWay += 1
        let winner = Int.random(in: 0..<width, using: &choices)
        let call = FanOutCall(
            id: CallID(random: &ids), place: place, caller: callers.phones[place], devices: width,
            winner: (winner, phone(place * width + winner)), areWoken: sleepers != nil, due: due,
            environment: environment
        ) { [unowned self] in callHappened($0, $1) }
        calls[place] = call
        call.invite(target(place))
        return true
    }

    /// Devices take a moment to go to sleep after a call.
    private func isReady(_ place: Int) -> Bool {
        guard let sleepers else { return true }
        return (place * width..<(place + 1) * width).allSatisfy { sleepers.sleeps($0) }
    }

    private func phone(_ device: Int) -> Softphone {
        // One of the two is there.
        online?.phones[device] ?? sleepers!.phones[device].softphone
    }

    private func callHappened(_ call: FanOutCall, _ happening: FanOutCall.Happening) {
        guard !isClosed, calls[call.place] === call else { return }
        switch happening {
        case .connected: holds.add(call)
        case .ended:
            if environment.recorder.counts(.now) { legs += width }
            release(call)
            environment.recorder.completed()
        case .failed(let reason):
            environment.hangUp(call.id, by: callers.phones[call.place]) { [self] in
                guard !isClosed else { return }
                release(call)
                environment.recorder.failed(reason)
            }
        }
    }

    private func release(_ call: FanOutCall) {
        calls[call.place] = nil
        freePlaces.append(call.place)
        underWay -= 1
    }

    var figures: [Figure] { [LoadFigure.Work.legs.figure(legs)] }

    func endHeld() { holds.dueAll() }

    func close() {
        isClosed = true
        holds.removeAll()
        callers.close()
        online?.close()
        sleepers?.close()
        calls = []
    }
}

@available(*, unavailable)
extension FanOutWorkload: Sendable {}
