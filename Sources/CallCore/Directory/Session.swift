import CallVocabulary
import DequeModule
import Determinism

/// One session of a device: its numbered events, and the state that a resume on a new socket needs.
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

        init(seq: UInt64, event: ServerEvent) {
            self.seq = seq
            self.event = event
            bytes = Self.size(of: event)
        }

        static func size(of event: ServerEvent) -> Int { event.payloadBytes + 256 }

        /// What of the event no other call's events replace: what the other side sent of an answered call. The candidates
        /// of a call that rings stay with the call.
        /// - Parameter isParty: whether the device is a party of an answered call.
        func relayed(_ isParty: (CallID) -> Bool) -> Unacknowledged? {
            switch event {
            case .candidates(let batch): isParty(batch.call) ? self : nil
            case .update(let update): isParty(update.call) ? self : nil
            case .incoming(let offer):
                isParty(offer.call) ? event.relayed.map { Unacknowledged(seq: seq, event: $0) } : nil
            case .state, .ended, .peer, .draining: nil
            }
        }
    }

    /// A call that was offered to the device, with the caller's candidates that followed.
    struct Offer {
        /// Of the last event with content of the caller.
        var seq: UInt64
        let call: CallID
        let from: Handle
        /// The content of all events.
        var bytes: Int
        /// When the last event was sent.
        var at: Instant
    }

    let id: SessionID
    let device: Device
    let openedAt: Instant
    let scope: SessionGrant.Scope
    var displayName: String?
    /// Of the token that opened or resumed it last.
    var allowance = CallAllowance()
    /// nil while detached.
    var connection: ConnectionID?
    /// When its present or last connection began.
    var connectedAt: Instant
    /// Calls that the device was in before a restarted app opened this session, and that the app has not acted on
    /// since, and when it lost its connection to each.
    var inheritedCalls: [(id: CallID, lostAt: Instant)] = []
    /// Valid once; each resume replaces it.
    @Secret var resumeToken: String
    var appState = AppState.foreground
    var resumeDeadline: DeadlineQueue<Deadline>.Token?

    private(set) var lastSeq: UInt64 = 0
    private(set) var acknowledged: UInt64 = 0
    /// Unacknowledged events, without a gap up to ``lastSeq``. After an overflow only what the other sides of answered
    /// calls sent, which no snapshot contains.
    private var replay: Deque<Unacknowledged> = []
    private var replayBytes = 0
    /// Unacknowledged events were dropped from `replay`: the session cannot be resumed.
    private(set) var hasOverflowed = false
    /// Recent offers that the device has not acknowledged, oldest first.
    private var offers: Deque<Offer> = []
    /// Beyond this number the oldest are forgotten.
    private static let mostOffers = 256

    init(id: SessionID, device: Device, scope: SessionGrant.Scope, resumeToken: String, openedAt: Instant) {
        self.id = id
        self.device = device
        self.openedAt = openedAt
        self.scope = scope
        connectedAt = openedAt
        self.resumeToken = resumeToken
    }

    /// Numbers an event and keeps it until it is acknowledged.
    /// - Parameter isParty: whether the device is a party of an answered call. What the other side of such a call sent is
    ///   kept after an overflow too: ``hasRoom(for:_:isParty:)`` was asked before.
    /// - Returns: the event's number, and whether this event overflowed the replay buffer.
    func record(
        _ event: ServerEvent, limits: CoreLimits, isParty: (CallID) -> Bool
    ) -> (seq: UInt64, overflowed: Bool) {
        lastSeq += 1
        let new = Unacknowledged(seq: lastSeq, event: event)
        let hasRoom = fits(new.bytes, limits)
        if !hasOverflowed {
            if hasRoom {
                keep(new)
                return (lastSeq, false)
            }
            keepRelayedOnly(isParty)
            hasOverflowed = true
            if let relayed = new.relayed(isParty) { keep(relayed) }
            return (lastSeq, true)
        }
        if let relayed = new.relayed(isParty) {
            // What is left of calls that are over makes room.
            if !hasRoom { keepRelayedOnly(isParty) }
            keep(relayed)
        }
        return (lastSeq, false)
    }

    private func fits(_ bytes: Int, _ limits: CoreLimits) -> Bool {
        replay.count < limits.replayEvents && replayBytes + bytes <= limits.replayBytes
    }

    private func keep(_ event: Unacknowledged) {
        replay.append(event)
        replayBytes += event.bytes
    }

    private func keepRelayedOnly(_ isParty: (CallID) -> Bool) {
        var relayed: Deque<Unacknowledged> = []
        for event in replay {
            if let kept = event.relayed(isParty) { relayed.append(kept) }
        }
        replay = relayed
        replayBytes = relayed.reduce(0) { $0 + $1.bytes }
    }

    /// Keeps candidates that the session was sent while their call rang, and has dropped in an overflow. Call it at the
    /// answer.
    func keepToldCandidates(_ batch: CallCandidates) {
        precondition(hasOverflowed, "without an overflow it has them")
        guard !batch.candidates.isEmpty || batch.isFinal else { return }
        keep(Unacknowledged(seq: lastSeq, event: .candidates(batch)))
    }

    /// Whether an event of the other side of an answered call can be kept until the device acknowledges it; also asked
    /// when there is a socket, which may be dead. Only such calls count. One alone has the whole of
    /// ``CoreLimits/replayEvents`` and ``CoreLimits/replayBytes``; with others it has at most as much as is free of twice
    /// that, so that no call takes another's room.
    func hasRoom(for event: ServerEvent, _ limits: CoreLimits, isParty: (CallID) -> Bool) -> Bool {
        let size = Unacknowledged.size(of: event)
        if fits(size, limits) { return true }
        var (own, all) = ((events: 1, bytes: size), (events: 1, bytes: size))
        for waiting in replay {
            guard let relayed = waiting.relayed(isParty) else { continue }
            all.events += 1
            all.bytes += relayed.bytes
            guard relayed.event.relayedCall == event.relayedCall else { continue }
            own.events += 1
            own.bytes += relayed.bytes
        }
        return own.events + all.events <= 2 * limits.replayEvents && own.bytes + all.bytes <= 2 * limits.replayBytes
    }

    /// Relayed events that the device has not acknowledged.
    var unacknowledgedMedia: [ServerEvent] { replay.compactMap(\.event.relayed) }

    /// Notes content that was sent to the device: an offer, or further candidates for one.
    /// - Parameter window: how long an offer counts: older ones are forgotten, as a device may never acknowledge them.
    func note(_ offer: Offer, within window: Duration) {
        while let first = offers.first, offers.count >= Self.mostOffers || first.at + window <= offer.at {
            offers.removeFirst()
        }
        guard let index = offers.lastIndex(where: { $0.call == offer.call }) else { return offers.append(offer) }
        offers[index].seq = offer.seq
        offers[index].bytes += offer.bytes
        offers[index].at = offer.at
    }

    /// The content of a caller's offers that the device has not acknowledged.
    func unreadBytes(from caller: Handle, where counts: (Offer) -> Bool) -> Int {
        offers.reduce(0) { $1.from == caller && counts($1) ? $0 + $1.bytes : $0 }
    }

    /// Drops the events up to `seq`.
    /// - Returns: false for a number that was never sent.
    func acknowledge(_ seq: UInt64) -> Bool {
        guard seq <= lastSeq else { return false }
        guard seq > acknowledged else { return true }
        acknowledged = seq
        offers.removeAll { $0.seq <= seq }
        if hasOverflowed {
            while let first = replay.first, first.seq <= seq { replayBytes -= replay.removeFirst().bytes }
        } else {
            // The numbers are computed: reading the first element would copy its event.
            while !replay.isEmpty, lastSeq - UInt64(replay.count) < seq { replayBytes -= replay.removeFirst().bytes }
        }
        // The dropped events were received: nothing is missing from here on.
        if seq == lastSeq { hasOverflowed = false }
        return true
    }

    /// The events after `seq`; nil when they are no longer known.
    func missing(after seq: UInt64) -> [Unacknowledged]? {
        guard !hasOverflowed, seq >= acknowledged, seq <= lastSeq else { return nil }
        return replay.filter { $0.seq > seq }
    }

    /// Whether the socket is connected and the app is in the foreground. An app in the background may be suspended at
    /// any moment.
    var isListening: Bool { connection != nil && appState == .foreground }

    func mayAct(on call: CallID) -> Bool { scope.mayAct(on: call) }
}

extension ServerEvent {
    /// Bytes of user data in the event, without `to`, which all events of a call share.
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
