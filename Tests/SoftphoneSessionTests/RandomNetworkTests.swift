import CallVocabulary
import Determinism
import Testing

@testable import SoftphoneSession

/// A phone and a model server over a network that loses, delays and goes silent at random.
@Suite struct RandomNetworkTests {
    @Test("whatever the network does, phone and server agree in the end and nothing is told twice", arguments: 0..<20)
    func agreesInTheEnd(block: UInt64) {
        for seed in (block * 15)..<(block * 15 + 15) {
            var world = World(seed: seed)
            for _ in 0..<600 { world.step() }
            world.heal()
            world.check()
            if !world.problems.isEmpty {
                Issue.record("seed \(seed): \(world.problems.prefix(3))")
                return
            }
        }
    }

    @Test("the random network reaches what it is meant to test")
    func coverage() {
        var resumed = 0
        var fresh = 0
        var replayed = 0
        var merged = 0
        for seed in 0..<30 as Range<UInt64> {
            var world = World(seed: seed)
            for _ in 0..<600 { world.step() }
            world.heal()
            resumed += world.resumed
            fresh += world.fresh
            replayed += world.duplicates
            merged += world.merged.count
        }
        #expect(merged > 10)
        #expect(resumed > 50)
        #expect(fresh > 50)
        #expect(replayed > 10, "events that came a second time")
    }
}

/// The phone, the server, and the network between them.
private struct World {
    var harness: SessionHarness
    var server = ModelServer()
    var random: SeededGenerator
    var problems: [String] = []
    var resumed = 0
    var fresh = 0
    var duplicates = 0

    /// The two directions of the connection at hand; each is in order.
    private var up: [ClientMessage] = []
    private var down: [ServerMessage] = []
    private var isConnected = false
    /// Nothing passes, and nobody is told.
    private var isBlackHole = false
    private var nextTicket: CommandTicket = 1
    private var open: Set<CommandTicket> = []
    private(set) var merged: Set<CallID> = []
    /// The phone's own candidates, by call.
    private var gathered: [CallID: Set<RawJSON>] = [:]
    private var candidates: UInt64 = 0
    private var announced: Set<CallID> = []
    private var endedCalls: Set<CallID> = []
    private var lastDraining: Duration = .zero
    private var drainings: Int64 = 0
    private var placed: UInt64 = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ 1)
        harness = SessionHarness(seed: seed) { configuration in
            configuration.probesSilence = true
            configuration.automaticReport = .reported
        }
        run(harness.give(.started(ticket: nil, limit: nil)))
    }

    private mutating func draw(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    private mutating func pick<T>(_ from: [T]) -> T? { from.isEmpty ? nil : from[draw(from.count)] }

    // MARK: Steps

    mutating func step() {
        switch draw(27) {
        case 0...5: deliverDown()
        case 6...11: deliverUp()
        case 12, 13: pass(.milliseconds(draw(1500)))
        case 14: if draw(3) == 0 { lose() }
        case 15: if draw(10) == 0 { isBlackHole = true }
        case 16: say(server.offer(now: harness.serverNow).1)
        case 17:
            if let call = pick(server.liveIDs) { say(server.end(call, .cancelled, now: harness.serverNow)) }
        case 18: act()
        case 19:
            placed += 1
            let call = CallID(high: 200, low: placed)
            command(.invite(Invite(call: call, to: .user(SessionHarness.bob))))
        case 20: pushOne()
        case 23:
            if let call = pick(server.liveIDs) { say(server.glare(call, now: harness.serverNow)) }
        case 24: gather()
        case 25: if draw(3) == 0 { command(.state(draw(2) == 0 ? .background : .foreground)) }
        case 21: if draw(8) == 0 { restartServer() }
        case 22:
            drainings += 1
            say(server.emit(.draining(deadline: .milliseconds(drainings))))
        default:
            if let call = pick(server.liveIDs) { say(server.farAnswer(call, now: harness.serverNow)) }
        }
    }

    /// The user does something with a call that is on the screen.
    private mutating func act() {
        guard let call = pick(harness.session.liveCalls) else { return }
        switch draw(4) {
        case 0: command(.hangup(call.id, .hangup))
        case 1 where call.role == .callee: command(.decline(call.id, .declined))
        case 2 where call.role == .callee: command(.answer(call.id, sdp: nil))
        default: command(.get(call.id))
        }
    }

    private mutating func pushOne() {
        guard let id = pick(server.liveIDs), let call = server.calls.first(where: { $0.id == id })?.call,
            call.role == .callee, call.state.isRingingPhase
        else { return }
        let push = CallPush(
            call: id, push: PushID(high: id.high, low: id.low), from: SessionHarness.bob, video: false,
            expiresAt: call.expiresAt)
        run(harness.give(.pushReceived(push)))
    }

    private mutating func gather() {
        guard let call = pick(harness.session.liveCalls)?.id else { return }
        candidates += 1
        let candidate = RawJSON.text("\(candidates)")
        gathered[call, default: []].insert(candidate)
        run(harness.give(.gathered(CallCandidates(call: call, candidates: [candidate]))))
    }

    private mutating func command(_ request: ClientRequest) {
        open.insert(nextTicket)
        nextTicket += 1
        run(harness.command(request, ticket: nextTicket - 1))
    }

    private mutating func restartServer() {
        server.restart()
        lose()
    }

    // MARK: The network

    private mutating func say(_ messages: [ServerMessage]) {
        if isConnected, !isBlackHole { down += messages }
    }

    private mutating func deliverDown() {
        guard !down.isEmpty else { return }
        let message = down.removeFirst()
        if case .event(let seq, _) = message, harness.session.isOpen, seq <= harness.session.lastHandledSeq {
            duplicates += 1
        }
        run(harness.receive(message))
    }

    private mutating func deliverUp() {
        guard !up.isEmpty else { return }
        say(server.receive(up.removeFirst(), now: harness.serverNow))
    }

    private mutating func lose() {
        guard isConnected else { return }
        isConnected = false
        up = []
        down = []
        run(harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: "lost")))
    }

    private mutating func pass(_ duration: Duration) {
        let end = harness.now + duration
        while harness.now < end {
            let next = min(end, harness.session.nextDeadline ?? end)
            run(harness.advance(max(.zero, next - harness.now)))
            say(server.expire(now: harness.serverNow))
            if next <= harness.now, (harness.session.nextDeadline ?? end) <= harness.now { break }
        }
    }

    /// The network gets well and everything comes to rest.
    mutating func heal() {
        // What TCP has lost it has lost for good: such a connection does not come to life again.
        if isBlackHole {
            isBlackHole = false
            lose()
        }
        for _ in 0..<400 {
            while !up.isEmpty || !down.isEmpty {
                deliverUp()
                deliverDown()
            }
            pass(.milliseconds(500))
        }
        while !up.isEmpty || !down.isEmpty {
            deliverUp()
            deliverDown()
        }
    }

    // MARK: The phone's effects

    private mutating func run(_ effects: [SessionEffect]) {
        for effect in effects {
            switch effect {
            case .fetchToken(let attempt): run(harness.give(.tokenFetched(attempt: attempt, token: "t")))
            case .connect(let attempt): connect(attempt)
            case .send(let message): if isConnected, !isBlackHole { up.append(message) }
            case .disconnect:
                isConnected = false
                up = []
                down = []
            case .complete(let ticket, _):
                if open.remove(ticket) == nil { problems.append("ticket \(ticket) completed twice") }
            case .notify(let event): note(event)
            }
        }
    }

    private mutating func connect(_ attempt: UInt64) {
        isConnected = true
        isBlackHole = isBlackHole && draw(2) == 0
        up = []
        down = []
        run(harness.give(.connected(attempt: attempt)))
        say([.welcome(harness.welcome)])
    }

    private mutating func note(_ event: SoftphoneEvent) {
        switch event {
        case .incoming(let call, _):
            // A call given up by a guess may be offered anew.
            if !announced.insert(call.id).inserted { problems.append("announced twice: \(call.id)") }
            endedCalls.remove(call.id)
        case .ended(let call):
            announced.remove(call.id)
            if !endedCalls.insert(call.id).inserted { problems.append("ended twice: \(call.id)") }
            if call.reason == nil { problems.append("ended without a reason") }
        case .state(let call), .offer(let call), .peer(let call):
            if endedCalls.contains(call.id) { problems.append("told of after its end: \(call.id)") }
        case .draining(let deadline):
            if deadline <= lastDraining { problems.append("told twice or out of order: \(deadline)") }
            lastDraining = deadline
        case .connection(.resumed): resumed += 1
        case .connection(.up): fresh += 1
        case .connection(.gone(let reason)): problems.append("gone: \(reason)")
        case .merged(let loser, _):
            if !merged.insert(loser).inserted { problems.append("merged twice: \(loser)") }
            if !endedCalls.contains(loser) { problems.append("merged before its end: \(loser)") }
        case .connection(.down), .connection(.offline), .candidates, .update, .latePush: break
        }
    }

    // MARK: In the end

    mutating func check() {
        if !harness.session.isOpen { problems.append("not open: \(harness.session.connection)") }
        if !open.isEmpty { problems.append("no outcome: \(open.sorted())") }
        if !harness.session.outbox.isEmpty { problems.append("left over: \(harness.session.outbox)") }
        problems += server.violations
        let own = harness.session.liveCalls.reduce(into: [:]) { $0[$1.id] = $1.state }
        let theirs = server.liveCalls
        for (call, state) in theirs where own[call] != state {
            problems.append("the server has \(call) \(state), the phone \(own[call].map { "\($0)" } ?? "nothing")")
        }
        for call in server.calls where call.call.state.isLive {
            let missing = (gathered[call.id] ?? []).subtracting(call.call.candidates)
            if !missing.isEmpty { problems.append("\(missing.count) candidates of \(call.id) are lost") }
        }
        if server.session?.appState != harness.session.appState { problems.append("the app's state differs") }
        for call in own.keys where theirs[call] == nil { problems.append("only the phone has \(call)") }
    }
}
