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

        /// Whether the other side of a call that goes on has sent it.
        func isRelayed(_ isLive: (CallID) -> Bool) -> Bool {
            event.relayed?.relayedCall.map(isLive) ?? false
        }
    }

    let id: SessionID
    let device: Device
    let openedAt: Instant
    let scope: SessionGrant.Scope
    var displayName: String?
    /// nil while detached.
    var connection: ConnectionID?
    /// Since when it has its connection, or had its last one.
    var connectedAt: Instant
    /// Calls that the device was in before an app that knows nothing of them opened this session, and that it has not acted
    /// on since.
    var inheritedCalls: [CallID] = []
    /// Used once, then another takes its place.
    @Secret var resumeToken: String
    var appState = AppState.foreground
    var resumeDeadline: DeadlineQueue<Deadline>.Token?

    private(set) var lastSeq: UInt64 = 0
    private(set) var acknowledged: UInt64 = 0
    /// Numbered without a gap, up to ``lastSeq``; once that has overflowed only what was relayed, which no snapshot tells.
    private var replay: Deque<Unacknowledged> = []
    private var replayBytes = 0
    /// Events were dropped from `replay` unacknowledged: only a new session can help.
    private(set) var hasOverflowed = false

    init(id: SessionID, device: Device, scope: SessionGrant.Scope, resumeToken: String, openedAt: Instant) {
        self.id = id
        self.device = device
        self.openedAt = openedAt
        self.scope = scope
        connectedAt = openedAt
        self.resumeToken = resumeToken
    }

    /// Numbers an event and keeps it until it is acknowledged.
    /// - Parameter isLive: whether a call goes on: what was sent in one that is over makes room.
    /// - Returns: its number, and whether this is the event that overflowed the replay.
    func record(
        _ event: ServerEvent, limits: CoreLimits, isLive: (CallID) -> Bool
    ) -> (seq: UInt64, overflowed: Bool) {
        lastSeq += 1
        let new = Unacknowledged(seq: lastSeq, event: event, bytes: Self.size(of: event))
        if !hasOverflowed {
            if fits(new.bytes, limits) {
                keep(new)
                return (lastSeq, false)
            }
            keepRelayedOnly()
            hasOverflowed = true
            keepRelayed(new, limits, isLive)
            return (lastSeq, true)
        }
        keepRelayed(new, limits, isLive)
        return (lastSeq, false)
    }

    private static func size(of event: ServerEvent) -> Int { event.payloadBytes + 256 }

    private func fits(_ bytes: Int, _ limits: CoreLimits) -> Bool {
        replay.count < limits.replayEvents && replayBytes + bytes <= limits.replayBytes
    }

    private func keep(_ event: Unacknowledged) {
        replay.append(event)
        replayBytes += event.bytes
    }

    private func keepRelayedOnly() {
        replay.removeAll { $0.event.relayed == nil }
        replayBytes = replay.reduce(0) { $0 + $1.bytes }
    }

    /// ``hasRoom(for:_:isLive:)`` was asked: what calls that are over have left makes room. Only a message that takes
    /// several events may need more, and then the oldest go.
    private func keepRelayed(_ event: Unacknowledged, _ limits: CoreLimits, _ isLive: (CallID) -> Bool) {
        guard event.event.relayed != nil else { return }
        if !fits(event.bytes, limits) {
            replay.removeAll { !$0.isRelayed(isLive) }
            replayBytes = replay.reduce(0) { $0 + $1.bytes }
        }
        while !replay.isEmpty, !fits(event.bytes, limits) { replayBytes -= replay.removeFirst().bytes }
        if fits(event.bytes, limits) { keep(event) }
    }

    /// Whether what the other side of a call has sent can be kept until the device acknowledges it, with a socket or
    /// without: one that stands may be dead.
    func hasRoom(for event: ServerEvent, _ limits: CoreLimits, isLive: (CallID) -> Bool) -> Bool {
        let bytes = Self.size(of: event)
        if fits(bytes, limits) { return true }
        let relayed = replay.filter { $0.isRelayed(isLive) }
        return relayed.count < limits.replayEvents
            && relayed.reduce(bytes) { $0 + $1.bytes } <= limits.replayBytes
    }

    /// What other sides have sent and the device has not acknowledged.
    var unacknowledgedMedia: [ServerEvent] { replay.compactMap(\.event.relayed) }

    /// - Returns: false for a number that was never sent.
    func acknowledge(_ seq: UInt64) -> Bool {
        guard seq <= lastSeq else { return false }
        guard seq > acknowledged else { return true }
        acknowledged = seq
        if hasOverflowed {
            while let first = replay.first, first.seq <= seq { replayBytes -= replay.removeFirst().bytes }
        } else {
            // Told by their number: a look at the first would copy its event.
            while !replay.isEmpty, lastSeq - UInt64(replay.count) < seq { replayBytes -= replay.removeFirst().bytes }
        }
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
        case .ended, .peer, .draining: return 0
        }
    }
}
