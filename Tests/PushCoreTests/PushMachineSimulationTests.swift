import CallVocabulary
import Determinism
import PushVocabulary
import Testing

@testable import PushCore

/// A call core, a shell and an APNs with every fault the machine knows, all driven by one seed.
private struct Simulation {
    enum Ledger: Equatable {
        /// Queued or returned: the machine may announce it.
        case waiting
        case announced
        case cleared
        case onWire
        case dropped
        case final(PushOutcome)
    }

    struct Entry {
        var state = Ledger.waiting
        var submissions = 0
        /// Attempts that APNs certainly did not take: refused streams and GOAWAY.
        var untaken = 0
        var serverErrors = 0
        var staleTokens = 0
        var quotas = 0
        var expiresAt: Instant
    }

    struct Peer {
        var isOpen = false
        var streamLimit = 1
        var nextStream: Int32 = 1
        var streams: [(stream: Int32, push: PushID)] = []
        /// GOAWAY was sent with this last id.
        var lastStream = Int32.max
        var pingIsDue = false
    }

    var machine: PushMachine
    var random: SeededGenerator
    var now = Instant(milliseconds: 1_700_000_000_000)
    var entries: [PushID: Entry] = [:]
    var order: [PushID] = []
    /// In the order they were opened.
    var peers: [(id: PushConnectionID, peer: Peer)] = []
    var unsigned: [Int] = []
    var pending: [PushEffect] = []
    /// Nothing fails any more and everything is answered.
    var isHealed = false
    let policy: PushPolicy

    init(seed: UInt64) {
        var policy = PushPolicy()
        policy.connections = 3
        policy.queueCapacity = 60
        policy.noticeCapacity = 20
        policy.streamsPerConnection = 8
        policy.throttledDevices = 3
        policy.heldPerDevice = 2
        policy.circuitBackoff = Backoff.Limits(base: .seconds(2), cap: .seconds(20))
        policy.credential = [.signedToken, .fetchedToken, .certificate][Int(seed % 3)]
        self.policy = policy
        machine = PushMachine(policy: policy, seed: seed)
        random = SeededGenerator(seed: ~seed)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    mutating func give(_ input: PushInput) {
        var effects: [PushEffect] = []
        machine.handle(input, now: now, effects: &effects)
        for effect in effects { perform(effect) }
        check()
    }

    /// What must hold after each step.
    func check() {
        #expect(machine.queueDepth <= policy.queueCapacity)
        #expect(machine.throttledDevices <= policy.throttledDevices)
        #expect(machine.noticeCount <= policy.noticeCapacity + policy.connections * policy.streamsPerConnection)
    }

    mutating func perform(_ effect: PushEffect) {
        switch effect {
        case .open(let id):
            #expect(!peers.contains { $0.id == id })
            peers.append((id, Peer()))
        case .close(let id): peers.removeAll { $0.id == id }
        case .ping(let id): change(id) { $0.pingIsDue = true }
        case .signProviderToken(let generation, let issuedAt):
            #expect(issuedAt == now)
            #expect(policy.credential != .certificate)
            unsigned.append(generation)
        case .ready(let push):
            #expect(entries[push]?.state == .waiting, "announced only when it waits")
            #expect(entries[push]?.expiresAt ?? now > now, "announced only within ring time")
            entries[push]?.state = .announced
        case .submit(let id, let push, let generation):
            #expect((generation == 0) == (policy.credential == .certificate))
            submit(push, on: id)
        case .cancel(let id, let stream):
            change(id) { peer in peer.streams.removeAll { $0.stream == stream } }
        case .outcome(let push, let outcome): note(outcome, of: push)
        case .alarm: break
        }
    }

    mutating func change(_ id: PushConnectionID, _ body: (inout Peer) -> Void) {
        guard let index = peers.firstIndex(where: { $0.id == id }) else { return }
        body(&peers[index].peer)
    }

    mutating func submit(_ push: PushID, on id: PushConnectionID) {
        guard var entry = entries[push] else {
            Issue.record("submits what was never queued")
            return
        }
        #expect(entry.state == .cleared, "submitted only on the core's word")
        #expect(entry.expiresAt > now, "submitted only within ring time")
        if chance(3), !isHealed { return give(.notSubmitted(id, push)) }
        entry.state = .onWire
        entry.submissions += 1
        let retries = min(entry.serverErrors, 1) + min(entry.staleTokens, 1) + min(entry.quotas, 1)
        #expect(entry.submissions <= 1 + entry.untaken + retries)
        entries[push] = entry
        var stream: Int32 = 0
        change(id) { peer in
            #expect(peer.isOpen)
            stream = peer.nextStream
            peer.nextStream += 2
            peer.streams.append((stream, push))
        }
        #expect(stream > 0, "submitted on a connection that is there")
        give(.submitted(id, push, stream: stream))
    }

    mutating func note(_ outcome: PushOutcome, of push: PushID) {
        let state = entries[push]?.state
        if case .final? = state { Issue.record("two final outcomes") }
        #expect(state != .dropped, "an outcome of a push that was dropped")
        if outcome == .returned {
            #expect(state == .onWire || state == .cleared)
            entries[push]?.state = .waiting
        } else {
            entries[push]?.state = .final(outcome)
        }
    }

    // MARK: Steps

    mutating func step() {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: queueOne(ring: .milliseconds(Int64.random(in: 0...20_000, using: &random)))
        case 1:
            let isNotice = chance(50)
            queueOne(
                ring: .milliseconds(Int64.random(in: 0...(isNotice ? 3_600_000 : 20_000), using: &random)),
                isUrgent: !isNotice)
        case 2, 3, 4: coreDecides()
        case 5, 6, 7: peerActs()
        case 8: passTime(.milliseconds(Int64.random(in: 0...(chance(1) ? 2_000_000 : 3000), using: &random)))
        default: settle()
        }
    }

    /// Everything works again: all is answered at once, and nobody drops anything.
    mutating func healedStep(_ duration: Duration = .seconds(1)) {
        settle()
        coreDecides()
        for (id, peer) in peers where peer.isOpen {
            give(.streamLimitChanged(id, 100))
            for stream in peer.streams { answer(id, stream, 200, "") }
        }
        passTime(duration)
    }

    @discardableResult
    mutating func queueOne(ring: Duration, isUrgent: Bool = true) -> PushID {
        let id = PushID(random: &random)
        let expiresAt = now + ring
        entries[id] = Entry(expiresAt: expiresAt)
        order.append(id)
        let token = chance(70) ? device(Int.random(in: 0..<6, using: &random)) : nil
        give(.queued(id, PushTerms(expiresAt: expiresAt, token: token, isUrgent: isUrgent)))
        return id
    }

    mutating func coreDecides() {
        for id in order where entries[id]?.state == .announced {
            if !isHealed, chance(20) { continue }
            if !isHealed, chance(10) {
                entries[id]?.state = .dropped
                give(.dropped(id))
            } else {
                entries[id]?.state = .cleared
                give(.cleared(id))
            }
        }
    }

    mutating func settle() {
        let wanted = unsigned
        unsigned = []
        for generation in wanted {
            if !isHealed, chance(10) {
                give(.providerTokenFailed(generation: generation, reason: "x"))
            } else {
                let life = isHealed ? 3600 : Int64.random(in: 0...4000, using: &random)
                give(.providerTokenSigned(generation: generation, expiresAt: now + .seconds(life)))
            }
        }
        for id in peers.map(\.id) {
            guard let peer = peers.first(where: { $0.id == id })?.peer else { continue }
            if !peer.isOpen {
                openPeer(id)
            } else if peer.pingIsDue, isHealed || chance(70) {
                change(id) { $0.pingIsDue = false }
                give(.pingAnswered(id))
            }
        }
    }

    private mutating func openPeer(_ id: PushConnectionID) {
        if !isHealed, chance(30) {
            peers.removeAll { $0.id == id }
            return give(.closed(id, reason: "refused"))
        }
        let limit = isHealed ? 100 : Int.random(in: 0...10, using: &random)
        change(id) { peer in
            peer.isOpen = true
            peer.streamLimit = limit
        }
        give(.opened(id, streamLimit: limit))
    }

    mutating func peerActs() {
        guard let place = peers.randomElement(using: &random), place.peer.isOpen else { return }
        switch Int.random(in: 0..<20, using: &random) {
        case 0: goAway(place.id, place.peer)
        case 1:
            peers.removeAll { $0.id == place.id }
            give(.closed(place.id, reason: "reset"))
        case 2, 3:
            let limit = Int.random(in: 0...10, using: &random)
            change(place.id) { $0.streamLimit = limit }
            give(.streamLimitChanged(place.id, limit))
        case 4, 5, 6: break
        default: answerOne(place.id, place.peer)
        }
    }

    private mutating func goAway(_ id: PushConnectionID, _ peer: Peer) {
        let last = min(peer.lastStream, Int32.random(in: 0...peer.nextStream, using: &random))
        for stream in peer.streams where stream.stream > last { entries[stream.push]?.untaken += 1 }
        change(id) { peer in
            peer.lastStream = last
            peer.streams.removeAll { $0.stream > last }
        }
        give(.goneAway(id, lastStream: last, reason: "x"))
    }

    private mutating func answerOne(_ id: PushConnectionID, _ peer: Peer) {
        guard let stream = peer.streams.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<17, using: &random) {
        case 0:
            change(id) { peer in peer.streams.removeAll { $0.stream == stream.stream } }
            entries[stream.push]?.untaken += 1
            give(.streamRefused(id, stream: stream.stream))
        case 1:
            change(id) { peer in peer.streams.removeAll { $0.stream == stream.stream } }
            give(.streamLost(id, stream: stream.stream, reason: "CANCEL"))
        case 2, 3:
            entries[stream.push]?.serverErrors += 1
            answer(id, stream, 503, ["ServiceUnavailable", "Shutdown"][Int.random(in: 0...1, using: &random)])
        case 4:
            entries[stream.push]?.staleTokens += 1
            let reasons = ["ExpiredProviderToken", "TooManyProviderTokenUpdates"]
            answer(id, stream, 403, reasons[Int.random(in: 0...1, using: &random)])
        case 5: answer(id, stream, 400, "BadDeviceToken")
        case 6, 7:
            answer(id, stream, providerAnswer(429, "TooManyRequests", .deviceThrottled, retryAfter: retryAfter()))
        case 8:
            entries[stream.push]?.quotas += 1
            let verdict: PushVerdict = chance(50) ? .providerThrottled : .throttled
            answer(id, stream, providerAnswer(429, "QUOTA_EXCEEDED", verdict, retryAfter: retryAfter()))
        case 9, 10:
            entries[stream.push]?.staleTokens += 1
            answer(id, stream, 403, "InvalidProviderToken")
        case 11:
            entries[stream.push]?.serverErrors += 1
            answer(id, stream, providerAnswer(503, "UNAVAILABLE", .retryable, retryAfter: retryAfter()))
        default: answer(id, stream, 200, "")
        }
    }

    private mutating func answer(
        _ id: PushConnectionID, _ stream: (stream: Int32, push: PushID), _ status: Int, _ reason: String
    ) {
        answer(id, stream, PushAnswer.apns(status: status, body: Array("{\"reason\":\"\(reason)\"}".utf8)))
    }

    private mutating func answer(
        _ id: PushConnectionID, _ stream: (stream: Int32, push: PushID), _ answer: PushAnswer
    ) {
        change(id) { peer in peer.streams.removeAll { $0.stream == stream.stream } }
        give(.answered(id, stream: stream.stream, answer))
    }

    private mutating func retryAfter() -> Duration? {
        chance(50) ? .milliseconds(Int64.random(in: 0...30_000, using: &random)) : nil
    }

    mutating func passTime(_ duration: Duration) {
        let end = now + duration
        var rounds = 0
        while let deadline = machine.nextDeadline(), deadline <= end {
            now = max(now, deadline)
            var effects: [PushEffect] = []
            machine.handleTimeouts(now: now, effects: &effects)
            for effect in effects { perform(effect) }
            check()
            rounds += 1
            // Every time-out must move something, or the loop's timer would spin.
            if rounds > 10_000 {
                Issue.record("time-outs that change nothing")
                return
            }
        }
        now = end
    }
}

@Suite("The push machine under every fault at once")
struct PushMachineSimulationTests {
    @Test(
        "each push is submitted at most once per attempt that APNs did not take, and has one final outcome in the end",
        arguments: 1...200 as ClosedRange<UInt64>)
    func laws(_ seed: UInt64) {
        var simulation = Simulation(seed: seed)
        for _ in 0..<600 { simulation.step() }
        simulation.isHealed = true
        // Notices may wait for a quarter of an hour, and the circuit for as long as its back-off says.
        for _ in 0..<60 { simulation.healedStep(.seconds(20)) }
        let probe = simulation.queueOne(ring: .seconds(100))
        for _ in 0..<30 { simulation.healedStep() }
        let last = simulation.queueOne(ring: .seconds(100))
        for _ in 0..<120 { simulation.healedStep() }
        #expect(simulation.entries[probe] != nil)
        #expect(simulation.machine.circuit == .closed)
        for id in simulation.order {
            switch simulation.entries[id]?.state {
            case .final, .dropped: break
            case .waiting, .announced, .cleared, .onWire, nil: Issue.record("push \(id) has no end (seed \(seed))")
            }
            #expect(!simulation.machine.contains(id))
        }
        #expect(simulation.entries[last]?.state == .final(.accepted), "what comes after the trouble goes through")
        #expect(simulation.machine.queueDepth == 0)
        #expect(simulation.machine.streamsInFlight == 0)
        let counters = simulation.machine.counters
        let ended = counters.accepted + counters.rejected + counters.unknown + counters.unsent + counters.dropped
        #expect(counters.queued == ended)
        #expect(counters.unsentByCause.values.reduce(0, +) == counters.unsent)
        #expect(simulation.machine.heldPushes == 0)
    }

    @Test("the same seed gives the same run")
    func determinism() {
        var runs: [[Instant]] = []
        for _ in 1...2 {
            var simulation = Simulation(seed: 42)
            var deadlines: [Instant] = []
            for _ in 0..<500 {
                simulation.step()
                let deadline = simulation.machine.nextDeadline()
                deadlines.append(deadline ?? simulation.now)
            }
            runs.append(deadlines)
        }
        #expect(runs[0] == runs[1])
    }
}
