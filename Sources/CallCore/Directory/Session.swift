import CallVocabulary
import DequeModule
import Determinism

/// One session of a device: numbered events, and what a new socket needs to go on where the last one broke.
///
/// ```
/// attached ──connectionLost──▶ detached ──resume in time──▶ attached
///    │                             └─────window over──────▶ gone
///    └──close, logout, replaced───────────────────────────▶ gone
/// ```
final class Session {
    struct Unacknowledged {
        let seq: UInt64
        let event: ServerEvent
        let bytes: Int
    }

    let id: SessionID
    let device: Device
    let openedAt: Instant
    let scope: SessionGrant.Scope
    var displayName: String?
    /// nil while detached.
    var connection: ConnectionID?
    /// Used once, then another takes its place.
    @Secret var resumeToken: String
    var appState = AppState.foreground
    var resumeDeadline: DeadlineQueue<Deadline>.Token?

    private(set) var lastSeq: UInt64 = 0
    private(set) var acknowledged: UInt64 = 0
    /// Numbered without a gap, up to ``lastSeq``.
    private var replay: Deque<Unacknowledged> = []
    private var replayBytes = 0
    /// Events were dropped from `replay` unacknowledged: only a snapshot can help.
    private(set) var hasOverflowed = false

    init(id: SessionID, device: Device, scope: SessionGrant.Scope, resumeToken: String, openedAt: Instant) {
        self.id = id
        self.device = device
        self.openedAt = openedAt
        self.scope = scope
        self.resumeToken = resumeToken
    }

    /// Numbers an event and keeps it until it is acknowledged.
    /// - Returns: its number, and whether this is the event that overflowed the replay.
    func record(_ event: ServerEvent, limits: CoreLimits) -> (seq: UInt64, overflowed: Bool) {
        lastSeq += 1
        guard !hasOverflowed else { return (lastSeq, false) }
        let bytes = event.payloadBytes + 256
        guard replay.count < limits.replayEvents, replayBytes + bytes <= limits.replayBytes else {
            hasOverflowed = true
            replay = []
            replayBytes = 0
            return (lastSeq, true)
        }
        replay.append(Unacknowledged(seq: lastSeq, event: event, bytes: bytes))
        replayBytes += bytes
        return (lastSeq, false)
    }

    /// - Returns: false for a number that was never sent.
    func acknowledge(_ seq: UInt64) -> Bool {
        guard seq <= lastSeq else { return false }
        guard seq > acknowledged else { return true }
        acknowledged = seq
        // Told by their number: a look at the first would copy its event.
        while !replay.isEmpty, lastSeq - UInt64(replay.count) < seq { replayBytes -= replay.removeFirst().bytes }
        // What was dropped has arrived after all, so that nothing is missing from here on.
        if seq == lastSeq { hasOverflowed = false }
        return true
    }

    /// What a client that has seen everything up to `seq` is missing; nil when that cannot be told any more.
    func missing(after seq: UInt64) -> [Unacknowledged]? {
        guard !hasOverflowed, seq >= acknowledged, seq <= lastSeq else { return nil }
        return replay.filter { $0.seq > seq }
    }

    /// Its socket stands, and its app is there to hear of a call: in the background it may be suspended any moment.
    var isListening: Bool { connection != nil && appState == .foreground }

    func mayAct(on call: CallID) -> Bool { scope.mayAct(on: call) }
}

extension ServerEvent {
    /// How many bytes of others' data it carries; `to` aside, which all events of a call share.
    var payloadBytes: Int {
        func size(_ json: RawJSON?) -> Int { json?.bytes.count ?? 0 }
        switch self {
        case .incoming(let call):
            return size(call.sdp) + size(call.custom) + call.candidates.reduce(0) { $0 + $1.bytes.count }
        case .state(let change): return size(change.sdp)
        case .candidates(let batch): return batch.candidates.bytes.count
        case .update(let update): return size(update.sdp) + size(update.custom)
        case .ended, .draining: return 0
        }
    }
}
