import CallCore
import CallVocabulary
import Determinism
import PushCore
import RecordModel

/// The whole system on one thread and one clock: the real call core and push machine, with a simulated store, sockets,
/// phones and APNs, and the faults of production.
///
/// All random values come from one seed: the same seed gives the same run on every machine, and in each process, although
/// the order of a `Set` or `Dictionary` differs there. ``Inspector`` checks invariants after each step. Then the faults
/// stop, and every call and push must end.
public final class Simulation {
    public struct Report: Sendable {
        public let seed: UInt64
        /// Steps until the end, or until the violation.
        public let steps: Int
        /// Broken invariants, in words; empty on success.
        public let violations: [String]
        public let coverage: Coverage
        /// Of the times and random values of all events: equal for equal seeds.
        public let fingerprint: Fingerprint
    }

    public static let defaultSteps = 1200
    /// The most steps for recovery after the faults stop.
    private static let mostHealingSteps = 60_000

    let seed: UInt64
    private let steps: Int
    private let sink: ((String) -> Void)?
    var random: SeededGenerator
    var odds: Odds
    let timers: CallTimers
    let limits: CoreLimits
    var isHealed = false

    /// Milliseconds since the epoch; never goes back. The server's clock is `wallOffset` ahead.
    private(set) var time: Int64 = 1_800_000_000_000
    var wallOffset: Int64 = 0
    var agenda = DeadlineQueue<Event>()
    private(set) var stepsDone = 0
    private var fingerprint = Fingerprint()

    let inspector = Inspector()
    var disk = Disk()
    /// What the store's tables contain, and the durable records that they lack.
    var tables = Disk()
    var journal: [StoreRecord] = []
    /// The last batch on disk, across all processes.
    var durableBatch = 0
    var lastBatch = 0
    var promises = Promises()
    /// The processes that are, or believe to be, the home of the realm; the latest last. At most one without a realm.
    var homes: [ServerProcess] = []
    var processes = 0
    /// nil: one process on one disk.
    var realm: Realm?
    var laws = RealmLaws()

    var links: [Link] = []
    var phones: [Phone] = []
    var handles: [Handle] = []
    var attempts: [Attempt] = []
    /// Call ids, the newest last, each with its first body.
    var invites: [Invite] = []
    /// The calls that the backend has placed, and the version of each that it knows.
    var backendInvites: [BackendInvite] = []
    var backendVersions: [CallID: UInt64] = [:]
    var serial: Int64 = 0
    var searches: [CallID] = []
    var providerIsDown = false

    /// - Parameters:
    ///   - isRealm: whether several processes share a database, which is so for a third of the seeds otherwise.
    ///   - trace: called with a line for each input and effect.
    public init(
        seed: UInt64, steps: Int = Simulation.defaultSteps, isRealm: Bool = false, trace: ((String) -> Void)? = nil
    ) {
        self.seed = seed
        self.steps = steps
        sink = trace
        random = SeededGenerator(seed: seed)
        odds = Odds(random: &random, isRealm: isRealm)
        timers = odds.timers
        limits = odds.limits
        inspector.authorization = odds.authorization
        realm = odds.realm.map { Realm($0.nodes, latest: now) }
    }

    public func run() -> Report {
        populate()
        if realm == nil { start() } else { startRealm() }
        schedule(.trouble, in: 500)
        while stepsDone < steps, inspector.violations.isEmpty, advance() {}
        if inspector.violations.isEmpty { heal() }
        return Report(
            seed: seed, steps: stepsDone, violations: inspector.violations, coverage: inspector.coverage,
            fingerprint: fingerprint)
    }

    // MARK: Time

    /// The clock of everybody but the processes of a realm. It is also the clock of a realm's database.
    var now: Instant { Instant(milliseconds: time + wallOffset) }

    func now(of process: ServerProcess) -> Instant { Instant(milliseconds: time + offset(of: process)) }

    func offset(of process: ServerProcess) -> Int64 { wallOffset + process.clockOffset }

    func schedule(_ event: Event, in milliseconds: Int) {
        _ = agenda.add(event, at: Instant(milliseconds: time + Int64(milliseconds)))
    }

    /// After earlier messages on the same lane.
    func schedule(_ event: Event, on lane: inout Int64, in milliseconds: Int) {
        lane = max(lane, time + Int64(milliseconds))
        _ = agenda.add(event, at: Instant(milliseconds: lane))
    }

    /// Runs the next event; false when there is none.
    @discardableResult
    func advance(until end: Int64 = .max) -> Bool {
        let timer = nextTimer
        let event = agenda.next?.milliseconds ?? .max
        let next = min(event, timer.at)
        guard next < end else { return false }
        time = max(time, next)
        var sample = random
        fingerprint.mix(UInt64(bitPattern: time))
        fingerprint.mix(sample.next())
        guard event > timer.at, let process = timer.process else {
            if let event = agenda.popDue(now: Instant(milliseconds: time)) {
                if !event.isRoutine { stepsDone += 1 }
                perform(event)
            }
            return true
        }
        stepsDone += 1
        if timer.isCore { letCoreTimeOut(process) } else { letPushTimeOut(process) }
        return true
    }

    /// The next timer of a process that runs.
    private var nextTimer: (at: Int64, process: ServerProcess?, isCore: Bool) {
        var next: (at: Int64, process: ServerProcess?, isCore: Bool) = (.max, nil, false)
        for home in homes where !home.isPaused {
            if let at = home.coreTimer, at < next.at { next = (at, home, true) }
            if let at = home.pushTimer, at < next.at { next = (at, home, false) }
        }
        return next
    }

    func perform(_ event: Event) {
        if realm?.hasPaused == true, hold(event) { return }
        switch event {
        case .toCore(let number, let input): if let process = live(number) { arrive(input, at: process) }
        case .turn(let number): if let process = live(number) { turn(process) }
        case .committed(let number): if let process = live(number) { committed(process) }
        case .toPush(let number, let message): if let process = live(number) { take(message, process) }
        case .prepared(let number, let order): if let process = live(number) { prepared(order, process) }
        case .signed(let number, let generation): if let process = live(number) { signed(generation, process) }
        case .authorize(let number, let input): if let process = live(number) { post(input, to: process) }
        case .lookUp(let number, let question, let wanted):
            if let process = live(number) { lookUp(question, wanted, process) }
        case .settle(let number, let generation): if let process = live(number) { settle(generation, process) }
        case .unseen(let number): if let process = live(number) { readUnseen(process) }
        case .history(let number, let connection, let request, let query):
            if let process = live(number) { readHistory(query, connection, request, process) }
        case .listed(let number): if let process = live(number) { list(process) }
        case .drained(let number): if let process = live(number) { stop(process) }
        case .stopped(let number): if let process = live(number) { finishStop(process) }
        case .start: start()
        case .connected(let number, let id): if let process = live(number) { connected(id, process) }
        case .toMachine(let number, let input): if let process = live(number) { hear(input, process) }
        case .request(let attempt): arrive(attempt)
        case .delivery(let attempt): deliver(attempt)
        case .toServer(let link, let frame): receive(frame, on: link)
        case .toPhone(let link, let frame): receive(frame, from: link)
        case .act(let phone, let act): perform(act, phones[phone])
        case .realm(let event): perform(event)
        case .trouble: makeTrouble()
        }
    }

    func live(_ number: Int) -> ServerProcess? { homes.first { $0.number == number } }

    /// The process that the next client is connected to.
    var entry: ServerProcess? {
        if realm != nil { return balanced() }
        return homes.first.flatMap { $0.isResting ? nil : $0 }
    }

    // MARK: Chance

    func chance(_ perMille: Int) -> Bool { perMille > 0 && Int.random(in: 0..<1000, using: &random) < perMille }

    func draw(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    /// - Precondition: `elements` is not empty.
    func pick<Element>(_ elements: [Element]) -> Element { elements[draw(0...elements.count - 1)] }

    // MARK: Notes

    func note(_ text: @autoclosure () -> String) {
        guard let sink else { return }
        sink("\(time - 1_800_000_000_000) \(text())")
    }

    func count(_ name: String) { inspector.coverage.count(name) }

    func violate(_ text: String) {
        note("VIOLATION \(text)")
        inspector.violate(text)
    }

    /// The number of the process, in a realm.
    func tag(_ process: ServerProcess) -> String { process.term == nil ? "" : "[\(process.number)] " }

    // MARK: The end

    /// The faults stop, and phones return or stay away. Time passes until all calls and pushes have ended.
    private func heal() {
        note("healing")
        isHealed = true
        odds.heal()
        providerIsDown = false
        healRealm()
        for index in phones.indices where chance(700) || phones[index].scope != .full {
            schedule(.act(phone: index, .connect(.open)), in: draw(0...5000))
        }
        for phone in phones {
            for call in phone.calls where !call.isOver {
                schedule(.act(phone: phone.index, .hangUp(call.id)), in: draw(60_000...120_000))
            }
        }
        guard pass(600_000) else { return }
        checkEnded()
        guard inspector.violations.isEmpty else { return }
        checkForgotten()
        guard inspector.violations.isEmpty else { return }
        for phone in phones { hangUpSocket(phone) }
        guard pass(300_000) else { return }
        if let process, process.core.nextDeadline() != nil { violate("deadlines are left") }
        if process?.core.onlineSessions != 0 { violate("sessions are left") }
        for (id, request) in unanswered() { violate("request \(id) got no reply: \(request.body)") }
    }

    private func pass(_ milliseconds: Int64) -> Bool {
        let end = time + milliseconds
        let last = stepsDone + Self.mostHealingSteps
        while inspector.violations.isEmpty, stepsDone < last, advance(until: end) {}
        if stepsDone >= last { violate("\(Self.mostHealingSteps) steps after the faults stopped were not enough") }
        time = max(time, end)
        return inspector.violations.isEmpty
    }

    private func checkEnded() {
        guard let process else { return violate("the server did not come back") }
        if process.isIdle, inspector.decided != disk { violate("the disk is not what was decided") }
        if process.core.liveCalls != 0 { violate("\(process.core.liveCalls) calls never ended") }
        let ledger = process.core.ledger
        if ledger.queued + ledger.inFlight + ledger.count(.awaited) != 0 { violate("pushes are still open in memory") }
        if !disk.liveCalls.isEmpty { violate("\(disk.liveCalls.count) calls are live on disk") }
        if !disk.openPushes.isEmpty { violate("\(disk.openPushes.count) pushes are open on disk") }
        if !disk.candidates.isEmpty { violate("candidates of ended calls are still on disk") }
        if !disk.descriptions.values.isEmpty { violate("descriptions of ended calls are still on disk") }
        if process.machine.queueDepth + process.machine.streamsInFlight != 0 {
            violate("the push client has work left")
        }
        let counters = process.machine.counters
        let ended = counters.accepted + counters.rejected + counters.unknown + counters.unsent + counters.dropped
        let unsent = counters.unsentByCause.values.reduce(0, +)
        if counters.queued != ended || counters.unsent != unsent || process.machine.heldPushes != 0 {
            violate("the push client's counters do not balance")
        }
        for phone in phones where phone.isOpen {
            for call in phone.calls where !call.isOver {
                violate("\(phone.key.user) still has \(call.id) as \(call.state) (\(call.role))")
            }
        }
    }

    /// A call requested now comes from the store: it is no longer in memory.
    private func checkForgotten() {
        for id in disk.calls.keys {
            guard let call = disk.calls[id], let device = call.caller.device else { continue }
            let before = searches.count
            ask(.get(id), SessionGrant(user: call.caller.user, issuedAt: now), device)
            guard pass(1000) else { return }
            // A call that the tables may lack stays until the core asks for that again, when another call leaves.
            if searches.count == before, !inspector.isSettling {
                violate("\(id) is still in memory, long after its end")
            }
        }
        _ = pass(300_000)
    }

    private func unanswered() -> [(RequestID, ServerRequest)] {
        guard let process else { return [] }
        return process.requests.compactMap { id in
            guard let request = inspector.requests[id], !request.isAnswered else { return nil }
            return process.lost.contains(request.connection) ? nil : (id, request)
        }
    }
}

@available(*, unavailable)
extension Simulation: Sendable {}
