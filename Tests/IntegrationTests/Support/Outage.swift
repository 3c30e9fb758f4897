import CallCore
import CallServer
import CallVocabulary
import EventLoop
import PushSimulator
import PushVocabulary
import SignalProtocol
import SoftphoneKit
import SoftphoneSession
import Synchronization
import TestCleanup

/// Scheduled calls to offline users, while the push service goes through stages of failure.
///
/// The schedule is an open loop: calls do not wait for earlier ones.
final class Outage: Sendable {
    /// The behaviour of the push service in one stage; nil: it works.
    typealias Stage = PushFault.Effect?

    static let callers = 20
    /// Real phones that wake, report and answer; every tenth call goes to one of them.
    static let phones = 20

    /// Observations during the whole run.
    struct Sightings: Sendable {
        var placed: [CallID: Handle] = [:]
        /// Invites that the server accepted.
        var taken: Set<CallID> = []
        var failed: [String] = []
        var deepestQueue = 0
        var mostMemory = 0
    }

    let simulator: PushSimulator
    let server: CallServer
    let phones: [IPhone]
    let callers: [Phone]
    /// The pushes that the push service received, in order.
    private let seen: Journal<SeenPush>
    private let state: Mutex<Sightings>
    private let sleepers: [Handle]

    var sightings: Sightings { state.withLock { $0 } }

    /// - Parameter calls: the number of calls; each has its own callee, except those to the phones.
    init(
        calls: Int, _ configure: @escaping (inout ServerConfiguration) -> Void
    ) async throws {
        let seen = Journal<SeenPush>()
        simulator = try await world.startSimulator {
            $0.acceptsUnknownTokens = true
            $0.onPush = { seen.add($0) }
        }
        sleepers = (0..<calls).map { Handle(stringLiteral: "sleeper\($0)") }
        try await world.seed(sleepers.enumerated().map { .device(Self.device(of: $1, number: $0)) })
        server = try await world.startServer {
            // A few callers place all calls.
            ($0.limits.pushingCallsPerCaller, $0.limits.pushingCallsPerPair) = (100_000, 100_000)
            $0.limits.pushesPerDevice = 100_000
            configure(&$0)
        }
        var phones: [IPhone] = []
        var callers: [Phone] = []
        for number in 0..<Self.phones {
            phones.append(try await world.sleepingPhone("phone\(number)", at: server.address))
        }
        for number in 0..<Self.callers {
            callers.append(try await world.phone("caller\(number)", at: server.address))
            _ = try await callers[number].softphone.connect()
        }
        self.phones = phones
        self.callers = callers
        self.seen = seen
        state = Mutex(Sightings())
        let answering = phones.map { phone in Task { await Self.answer(phone) } }
        let hangingUp = callers.map { caller in Task { await Self.hangUp(caller) } }
        atEnd { for task in answering + hangingUp { task.cancel() } }
    }

    private static func device(of user: Handle, number: Int) -> DeviceRecord {
        let token = PushToken.voip("5ee9" + String(100_000 + number, radix: 10))
        return DeviceRecord(
            key: DeviceKey(user: user, device: .random()), platform: .ios, app: "test", name: nil,
            tokens: [DeviceRecord.Token(token: token, registeredAt: .now)], seenAt: .now, unreportedStreak: 0,
            suspendedAt: nil)
    }

    /// Places the calls at this interval, equally many in each stage. Afterwards the service works again.
    func run(calls: Int, every interval: Duration, through stages: [Stage]) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        let share = calls / stages.count
        for number in 0..<calls {
            if number % share == 0, number / share < stages.count { await enter(stages[number / share]) }
            try await clock.sleep(until: start + interval * number)
            place(number)
            if number % 50 == 0 { try await sample() }
        }
        await enter(nil)
        _ = try await eventually("every call is placed") {
            state.withLock { $0.taken.count + $0.failed.count == $0.placed.count } ? true : nil
        }
    }

    private func enter(_ stage: Stage) async {
        await simulator.clearFaults()
        if let stage { await simulator.inject(PushFault(stage)) }
    }

    private func place(_ number: Int) {
        let call = CallID.random()
        let callee: Handle =
            number % 10 == 9 ? Handle(stringLiteral: "phone\(number / 10 % Self.phones)") : sleepers[number]
        state.withLock { $0.placed[call] = callee }
        invite(Invite(call: call, to: .user(callee)), by: callers[number % Self.callers])
    }

    private func invite(_ invite: Invite, by caller: Phone) {
        caller.softphone.submit(.invite(invite)) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success:
                state.withLock { _ = $0.taken.insert(invite.call) }
            case .failure(let error):
                guard case .refused(let refusal) = error, case .overloaded(let wait) = refusal.code else {
                    return state.withLock { $0.failed.append("\(invite.call): \(error)") }
                }
                // On a busy machine the server has no time for some calls. They are placed again, as it says.
                Task {
                    try await Task.sleep(for: wait)
                    self.invite(invite, by: caller)
                }
            }
        }
    }

    /// Answers every call that the phone shows.
    private static func answer(_ phone: IPhone) async {
        for await event in phone.softphone.events() {
            guard case .incoming(let call, _) = event else { continue }
            phone.softphone.submit(.answer(call.id, sdp: nil)) { result in
                if case .success = result { phone.softphone.submit(.connected(call.id)) { _ in } }
            }
        }
    }

    private static func hangUp(_ caller: Phone) async {
        for await event in caller.softphone.events() {
            guard case .state(let call) = event else { continue }
            if call.state == .answered { caller.softphone.submit(.connected(call.id)) { _ in } }
            if call.state == .connected { caller.softphone.submit(.hangup(call.id, .hangup)) { _ in } }
        }
    }

    /// Samples the length of the push queue and the memory of this process.
    private func sample() async throws {
        let metrics = try await HTTPAnswer.curl(server, "/metrics").body
        let depth = metrics.split(separator: "\n").filter { $0.hasPrefix("reveille_push_queue_depth{") }
            .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }.reduce(0, +)
        state.withLock { state in
            state.deepestQueue = max(state.deepestQueue, depth)
            state.mostMemory = max(state.mostMemory, ProcessMemory.resident())
        }
    }

    /// The push service's requests, by `apns-id`.
    var attempts: [String: [SeenPush]] { Dictionary(grouping: seen.entries, by: \.push.id) }
}

extension SeenPush {
    /// Whether it got status 200.
    var isAccepted: Bool {
        switch fault {
        case nil, .lose, .deliverLate, .limitStreams: true
        case .retire(let goAway): goAway.lastStream == .current
        case .refuse, .refuseMessage, .refuseWebPush, .refuseAndClose, .neverAnswer, .reset, .blackHole, .splitBody,
            .emptyBody, .html:
            false
        }
    }

    /// Whether the refusal permits a retry.
    var isRetryable: Bool {
        switch fault {
        case .refuse(let reason, _, _): reason.status >= 500
        case .refuseAndClose: true
        case nil, .lose, .deliverLate, .limitStreams, .retire, .refuseMessage, .refuseWebPush, .neverAnswer, .reset,
            .blackHole,
            .splitBody, .emptyBody, .html:
            false
        }
    }
}
