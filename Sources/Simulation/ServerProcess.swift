import CallCore
import CallVocabulary
import Determinism
import PushCore
import PushVocabulary

/// One server process: its memory, which is lost at its end.
final class ServerProcess {
    struct Batch {
        var serial: Int
        var rows: [StoreRecord]
        var outputs: [CoreEffect]
        /// Whether its new pushes were queued before its rows were committed.
        var isAhead: Bool
        /// When it was decided, by the simulation's clock and by the process's.
        var since: Int64
        var decidedAt: Instant
    }

    /// The client's end of a connection to APNs.
    struct Connection {
        var id: PushConnectionID
        var isOpen = false
        /// Accepts everything and sends nothing.
        var isBlackHole = false
        var streamLimit = 0
        var nextStream: Int32 = 1
        /// The last stream id of a GOAWAY.
        var lastStream = Int32.max
        var lane: Int64 = 0
    }

    let number: Int
    /// nil without a realm.
    var term: Term?
    /// The process's clock less the database's, in milliseconds.
    let clockOffset: Int64
    let core: CallCore
    var effects = EffectBuffer()

    var inbox: [CoreInput] = []
    var isTurnDue = false
    /// The batches of the next commit, and those of the current one.
    var waiting: [Batch] = []
    var committing: [Batch] = []
    /// Durable batches that wait for the lease to be renewed.
    var undelivered: [Batch] = []
    /// The number of the last commit that it knows of.
    var lastCommit = 0
    /// The number of its attempts to commit.
    var attempt = 0
    var commitPause = 50
    var isLookDue = false
    /// Whether requests are refused because the oldest commit waits for too long, and other inputs held.
    var isStalled = false
    var held: [CoreInput] = []
    /// Whether it ends as soon as everything is released.
    var isLeaving = false
    var rows: [StoreRecord] = []
    var outputs: [CoreEffect] = []
    var hasRecovered = false
    var isPaused = false
    /// When it learned that a call is over.
    var overSince: [CallID: Int64] = [:]
    /// Whether the core accepts only the outcomes of pushes.
    var isResting = false
    var coreTimer: Int64?
    private var coreTimerFor: Instant?

    var machine: PushMachine
    var preparing: [PushID] = []
    var queued: [PushID: PushIntent] = [:]
    var connections: [Connection] = []
    var isPushStopping = false
    var isClosing = false
    var pushTimer: Int64?
    private var pushTimerFor: Instant?

    /// The arrival time of the last scheduled message, so that none overtakes another.
    var coreLane: Int64 = 0
    var pushLane: Int64 = 0
    /// Requests passed to the core, and connections whose end was reported to it.
    var requests: [RequestID] = []
    var lost: Set<ConnectionID> = []

    init(number: Int, seed: UInt64, odds: Odds, term: Term? = nil, clockOffset: Int64 = 0) {
        self.number = number
        self.term = term
        self.clockOffset = clockOffset
        let own = seed &+ UInt64(number) &* 0x5851_F42D_4C95_7F2D
        core = CallCore(
            timers: odds.timers, limits: odds.limits, policy: odds.userPolicy, recordsEvents: true,
            authorization: odds.authorization, random: SeededGenerator(seed: own))
        machine = PushMachine(policy: odds.policy, seed: ~own)
    }

    /// Of its term; without a realm, that of a database in which nobody took the lease.
    var key: TermKey { term?.key ?? TermKey(epoch: 0, id: 0) }
    /// Whether no batch waits.
    var isIdle: Bool { waiting.isEmpty && committing.isEmpty && undelivered.isEmpty }

    /// - Returns: whether the timer needs another deadline.
    func coreDeadlineMoved() -> Bool {
        let next = core.nextDeadline()
        defer { coreTimerFor = next }
        return next != coreTimerFor
    }

    func pushDeadlineMoved() -> Bool {
        let next = machine.nextDeadline()
        defer { pushTimerFor = next }
        return next != pushTimerFor
    }

    /// The timer fired, so the same deadline sets it again.
    func coreTimerFired() {
        coreTimer = nil
        coreTimerFor = nil
    }

    func pushTimerFired() {
        pushTimer = nil
        pushTimerFor = nil
    }
}
