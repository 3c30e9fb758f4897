import CallCore
import CallVocabulary
import Determinism
import PushCore
import PushVocabulary

/// One life of the server: what is in its memory, and lost with it.
final class ServerProcess {
    /// What one turn of the core decided.
    struct Batch {
        var serial: Int
        var rows: [StoreRecord]
        var outputs: [CoreEffect]
        /// Its new pushes were in line before its rows were committed.
        var isAhead: Bool
    }

    /// The client's end of a connection to APNs.
    struct Connection {
        var id: PushConnectionID
        var isOpen = false
        /// Takes everything and answers nothing.
        var isBlackHole = false
        var streamLimit = 0
        var nextStream: Int32 = 1
        /// GOAWAY was sent with this last id.
        var lastStream = Int32.max
        var lane: Int64 = 0
    }

    let number: Int
    let core: CallCore
    var effects = EffectBuffer()

    var inbox: [CoreInput] = []
    var isTurnDue = false
    /// Batches that wait for the next commit, and those of the one under way.
    var waiting: [Batch] = []
    var committing: [Batch] = []
    var rows: [StoreRecord] = []
    var outputs: [CoreEffect] = []
    /// Takes nothing in any more but the outcomes of pushes.
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

    /// When what is on the way arrives at the latest: nothing overtakes.
    var coreLane: Int64 = 0
    var pushLane: Int64 = 0
    /// Requests posted to the core, and connections whose end it was told.
    var requests: [RequestID] = []
    var lost: Set<ConnectionID> = []

    init(number: Int, seed: UInt64, odds: Odds) {
        self.number = number
        let own = seed &+ UInt64(number) &* 0x5851_F42D_4C95_7F2D
        core = CallCore(
            timers: odds.timers, limits: odds.limits, policy: odds.userPolicy, random: SeededGenerator(seed: own))
        machine = PushMachine(policy: odds.policy, seed: ~own)
    }

    /// - Returns: whether the deadline is another than the timer was set for.
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

    /// The timer has gone off: the same deadline sets it again.
    func coreTimerFired() {
        coreTimer = nil
        coreTimerFor = nil
    }

    func pushTimerFired() {
        pushTimer = nil
        pushTimerFor = nil
    }
}
