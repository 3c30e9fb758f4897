import CallVocabulary
import Determinism
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Random users, commands, push outcomes, broken sockets, late clocks and restarts. Everything that must always hold is
/// checked after every step; then the faults stop, and every call and every push must come to its end.
///
/// A failing run names its seed; `run(seed:)` with that seed does the same again.
@Suite struct SimulationTests {
    @Test("whatever happens, the books balance, and in the end everything is over", arguments: 0..<20 as Range<UInt64>)
    func batch(_ batch: UInt64) {
        for seed in batch * 10..<(batch + 1) * 10 { run(seed: seed) }
    }

    private func run(seed: UInt64) {
        var simulation = Simulation(seed: seed, steps: 400)
        simulation.run()
        #expect(simulation.world.violations.isEmpty, "seed \(seed)")
    }
}

struct Simulation {
    let world: World
    let steps: Int
    let seed: UInt64
    private var random: SeededGenerator
    private var phones: [Phone] = []
    private var calls: [CallID] = []

    private let restarts: Bool

    init(seed: UInt64, steps: Int, restarts: Bool = true) {
        self.restarts = restarts
        self.seed = seed
        self.steps = steps
        random = SeededGenerator(seed: seed)
        var limits = CoreLimits()
        limits.replayEvents = 12
        limits.candidateEventsPerCaller = 3
        var timers = CallTimers()
        // Short enough to run out before the end.
        timers.notice = .seconds(120)
        timers.backgroundWindow = .seconds(120)
        var policy = UserPolicy()
        policy.missedCalls = MissedCallPush.allCases[Int(seed % 3)]
        world = World(seed: seed, timers: timers, limits: limits, policy: policy)
        for user in ["alice", "bob", "carol", "dave"] {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let phone = world.phone(user, pushable: .random(in: 0..<4, using: &random) > 0)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: phone.tokens.append(.alert("alert-\(phone.id)"))
                case 1: phone.tokens.append(.fcm(.data, "data-\(phone.id)"))
                default: break
                }
                phones.append(phone)
            }
        }
    }

    mutating func run() {
        for step in 0..<steps where world.violations.isEmpty {
            world.context = "seed \(seed), step \(step): "
            act()
        }
        guard world.violations.isEmpty else { return }
        world.context = "seed \(seed), healing: "
        heal()
    }

    private mutating func chance(_ percent: Int) -> Bool { .random(in: 0..<100, using: &random) < percent }

    private mutating func act() {
        let phone = phones.randomElement(using: &random)!  // There is at least one for each user.
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<20: use(phone)
        case 20..<44: push()
        case 44..<50: world.advance(.milliseconds(.random(in: 0..<3_000, using: &random)))
        case 50: world.advance(.seconds(.random(in: 0..<50, using: &random)))
        case 51: world.stall(.milliseconds(.random(in: 0..<4_000, using: &random)))
        case 53: administer()
        case 52:
            guard chance(50), restarts else { return }
            world.restart(downFor: .milliseconds(.random(in: 0..<30_000, using: &random)))
        default: talk()
        }
    }

    // MARK: Sessions

    private mutating func use(_ phone: Phone) {
        guard phone.isOnline else { return come(phone) }
        switch Int.random(in: 0..<20, using: &random) {
        case 0: phone.ask(.close)
        case 1: if phone.scope == .full { phone.ask(.logout) }
        case 2..<6: phone.lose()
        case 6: come(phone)
        case 7: phone.ask(.updateDevice(push: tokens(for: phone)))
        case 8..<11: phone.ack()
        case 12: phone.ask(.state(chance(50) ? .background : .foreground))
        case 11: phone.notify(.ack(seq: .random(in: 0..<20, using: &random)))
        default: if world.core.liveCalls < 3 || chance(5) { invite(phone) }
        }
    }

    private mutating func come(_ phone: Phone) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: phone.open(sending: chance(30) ? tokens(for: phone) : nil)
        case 3..<7: if phone.session != nil { phone.resume() }
        case 7: if phone.session != nil { phone.resume(lastSeq: .random(in: 0...phone.lastSeq, using: &random)) }
        default:
            let pushed = world.store.pushes.values.last { $0.device == phone.key }?.call
            if let call = pushed ?? calls.last { phone.wake(call) }
        }
    }

    /// Its own, another's (a user switch, a reinstall), a new one, or none.
    private mutating func tokens(for phone: Phone) -> [PushToken] {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: []
        case 1: phones.randomElement(using: &random)?.tokens ?? []
        case 2: phone.tokens + [.voip("new-\(UInt16.random(in: 0...UInt16.max, using: &random))")]
        default: phone.tokens
        }
    }

    // MARK: Calls

    private mutating func invite(_ phone: Phone) {
        let id = chance(10) ? (calls.last ?? world.newCall()) : world.newCall()
        let users = phones.map(\.user) + [Handle("nobody")!, Handle("al")!]
        let to: CallTarget =
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6: .user(users.randomElement(using: &random) ?? phone.user)
            case 6..<8: .users((0..<3).compactMap { _ in users.randomElement(using: &random) })
            default: .group(["everybody", "desk", "nobody"].randomElement(using: &random) ?? "desk")
            }
        phone.call(to, id: id, ring: chance(50) ? .seconds(10) : nil, sdp: chance(50) ? "\"sdp\"" : nil)
        if !calls.contains(id) { calls.append(id) }
    }

    private mutating func administer() {
        let users = Array(Set(phones.map(\.user))).sorted()
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            let name = chance(50) ? "everybody" : "desk"
            let members = users.shuffled(using: &random).prefix(.random(in: 1...4, using: &random))
            world.administer(
                .setGroup(CallGroup(name: name, strategy: name == "desk" ? .hunt : .all, members: Array(members))))
        case 1: world.administer(.setAlias(Alias(handle: Handle("al")!, user: users.randomElement(using: &random)!)))
        default:
            world.administer(
                .setUser(
                    users.randomElement(using: &random)!,
                    UserPolicyChange(
                        callWaiting: chance(70), decline: chance(50) ? .all : .device, doNotDisturb: chance(10),
                        missedCalls: MissedCallPush.allCases.randomElement(using: &random))))
        }
    }

    private mutating func talk() {
        // Mostly about one of the last calls, and mostly somebody whom it concerns.
        let recent = chance(90) ? calls.suffix(3) : calls[...]
        guard let call = recent.randomElement(using: &random), let record = world.store.calls[call] else { return }
        let isCallersTurn = chance(40)
        let concerned = phones.filter { phone in
            isCallersTurn ? record.caller == phone.party : world.leg(call, of: phone) != nil
        }
        let someone = chance(90) ? concerned : phones
        guard let phone = someone.randomElement(using: &random) else { return }
        guard phone.isOnline else {
            guard let leg = world.leg(call, of: phone), chance(70) else { return come(phone) }
            phone.wake(call)
            if phone.isOnline, chance(70) { phone.report(leg.push, call) }
            return
        }
        switch Int.random(in: 0..<18, using: &random) {
        case 0..<3: phone.ring(call)
        case 3..<6: phone.answer(call, sdp: chance(80) ? "\"answer\"" : nil)
        case 6: phone.decline(call, DeclineReason.allCases.randomElement(using: &random) ?? .declined)
        case 7..<12: phone.connected(call)
        case 12: if chance(50) { phone.hangUp(call, HangupReason.allCases.randomElement(using: &random) ?? .hangup) }
        case 13: phone.ask(.get(call))
        case 14: phone.send(["1", "2"], of: call, final: chance(20))
        case 15: phone.ask(.update(CallUpdate(call: call, kind: .hold)))
        default:
            let push = world.leg(call, of: phone)?.push ?? world.newPush()
            phone.report(
                push, call, chance(70) ? .reported : ReportResult.allCases.randomElement(using: &random) ?? .failed)
        }
    }

    // MARK: Pushes

    /// The core's question and its answer may cross with anything else, so announcing and asking are two steps.
    private mutating func push() {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3:
            guard let id = world.provider.waiting.randomElement(using: &random) else { return }
            world.announceOnly(id)
            if chance(60) { world.step(.push(.ready(id))) }
        case 3..<5: if let id = world.provider.announced.randomElement(using: &random) { world.step(.push(.ready(id))) }
        case 5:
            if let id = world.store.pushes.values.randomElement(using: &random)?.id, world.provider.phase(of: id) == nil
            {
                world.step(.push(.ready(id)))
            }
        case 6:
            if chance(30), let id = world.provider.waiting.randomElement(using: &random) {
                world.settle(id, .unsent(reason: "full"))
            }
        default: if let id = world.provider.onWire.randomElement(using: &random) { world.settle(id, outcome()) }
        }
    }

    private mutating func outcome() -> PushOutcome {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5: .accepted
        case 5: .rejected(reason: "BadDeviceToken", isTokenDead: true)
        case 6: .rejected(reason: "InternalServerError", isTokenDead: false)
        case 7: .unknown(reason: "no answer")
        case 8: .returned
        default: .unsent(reason: "expired")
        }
    }

    // MARK: The end

    /// The push client does its work, and everybody goes home.
    private mutating func heal() {
        for _ in 0..<3 {
            for id in world.provider.waiting + world.provider.announced { world.makeReady(id) }
            for id in world.provider.onWire { world.settle(id, .accepted) }
            for phone in phones { phone.lose() }
            world.advance(.seconds(60))
        }
        world.advance(.seconds(300))
        let ledger = world.core.ledger
        if world.core.liveCalls != 0 { world.violate("\(world.core.liveCalls) calls never ended") }
        if ledger.queued + ledger.inFlight + ledger.count(.awaited) != 0 {
            world.violate("pushes stay open: \(ledger)")
        }
        if world.store.pushes.values.contains(where: \.isOpen) { world.violate("pushes stay open on disk") }
        if !world.core.calls.isEmpty || !world.core.pushes.isEmpty || !world.core.notices.isEmpty {
            world.violate("calls or pushes stay in memory")
        }
        if world.core.deadlines.count != 0 { world.violate("deadlines stay behind") }
        if world.core.onlineSessions != 0 { world.violate("sessions stay behind") }
    }
}
