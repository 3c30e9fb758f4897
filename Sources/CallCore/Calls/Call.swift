import CallVocabulary
import Determinism

/// One call and where it stands.
///
/// ```
/// routing ─▶ waking ─▶ ringing ─▶ answered ─▶ connected
///    └──────────┴─────────┴──────────┴────────────┴────▶ ended
/// ```
/// States only move forward; each transition is a method here, and traps when it is called in the wrong state.
final class Call {
    enum Phase {
        case routing
        case waking
        case ringing
        case answered(Answer)
        case connected(Answer, at: Instant)
        case ended(Ending)
    }

    /// Who won, and how far media has come.
    struct Answer {
        let leg: Leg
        let at: Instant
        let connectsUntil: Instant
        /// For a caller that comes back with a new session before media flows.
        var sdp: RawJSON?
        var callerConnectedAt: Instant?
        var calleeConnectedAt: Instant?
    }

    struct Ending {
        let reason: EndReason
        let by: Party?
        let at: Instant
        let answer: Answer?
        let connectedAt: Instant?
    }

    let id: CallID
    let caller: Party
    let callerName: String?
    let to: CallTarget
    /// What `to` takes in each frame that names it.
    let targetBytes: Int
    let video: Bool
    let inviteDigest: UInt64
    let createdAt: Instant
    let ringsUntil: Instant
    /// The caller's device; only it acts as the caller.
    let callerDevice: Device

    private(set) var phase = Phase.routing
    private(set) var firstRangAt: Instant?
    var legs: [Leg] = []
    /// SDP and custom data for devices still to be told; from the answer until media flows, the answer's SDP.
    var offer: OfferRecord
    /// The caller's candidates for devices still to be told.
    var callerCandidates = CandidateBuffer()
    /// The invite has been answered; from then on the caller hears of changes by events.
    var isAnnounced = false
    /// The one thing that falls due next: ring, connect, or being forgotten.
    var deadline: DeadlineQueue<Deadline>.Token?

    init(
        invite: Invite, digest: UInt64, callerDevice: Device, callerName: String?, createdAt: Instant,
        ringsUntil: Instant
    ) {
        id = invite.call
        caller = callerDevice.party
        self.callerDevice = callerDevice
        self.callerName = callerName
        to = invite.to
        targetBytes = invite.to.bytes
        video = invite.video
        inviteDigest = digest
        self.createdAt = createdAt
        self.ringsUntil = ringsUntil
        offer = OfferRecord(call: invite.call, sdp: invite.sdp, custom: invite.custom)
    }

    /// As it was when the process ended. Its legs must have been made for it already.
    init(_ record: CallRecord, callerDevice: Device, offer: OfferRecord?) {
        id = record.id
        caller = record.caller
        self.callerDevice = callerDevice
        callerName = record.callerName
        to = record.to
        targetBytes = record.to.bytes
        video = record.video
        inviteDigest = record.inviteDigest
        createdAt = record.createdAt
        ringsUntil = record.ringsUntil
        firstRangAt = record.ringingAt
        self.offer = offer ?? OfferRecord(call: record.id, sdp: nil, custom: nil)
        isAnnounced = true
    }

    var state: CallState {
        switch phase {
        case .routing: .routing
        case .waking: .waking
        case .ringing: .ringing
        case .answered: .answered
        case .connected: .connected
        case .ended: .ended
        }
    }

    var isUnanswered: Bool { state.isRingingPhase }
    var isLive: Bool { state.isLive }

    var answer: Answer? {
        switch phase {
        case .routing, .waking, .ringing: nil
        case .answered(let answer), .connected(let answer, _): answer
        case .ended(let ending): ending.answer
        }
    }

    var ending: Ending? {
        if case .ended(let ending) = phase { ending } else { nil }
    }

    /// When the present stage is over at the latest.
    var expiresAt: Instant? {
        switch phase {
        case .routing, .waking, .ringing: ringsUntil
        case .answered(let answer): answer.connectsUntil
        case .connected, .ended: nil
        }
    }

    /// Whether the call hangs on this device: the caller's, or the one that answered.
    func isParty(_ device: Device) -> Bool { callerDevice === device || answer?.leg.device === device }

    /// Whether the user has said no on one of the devices, which speaks for all of them.
    func isDeclined(by user: User) -> Bool {
        user.devices.contains { device in
            let reason = device.leg(of: self)?.record.endReason
            return reason == .declined || reason == .busy
        }
    }

    // MARK: Transitions

    func wake() {
        guard case .routing = phase else { preconditionFailure("only a call being routed starts to wake") }
        phase = .waking
    }

    func ring(at now: Instant) {
        switch phase {
        case .routing, .waking: phase = .ringing
        case .ringing, .answered, .connected, .ended: preconditionFailure("a call starts to ring once")
        }
        firstRangAt = now
    }

    func answer(by leg: Leg, at now: Instant, connectsUntil: Instant, sdp: RawJSON?) {
        precondition(isUnanswered, "a call is answered once")
        phase = .answered(Answer(leg: leg, at: now, connectsUntil: connectsUntil, sdp: sdp))
    }

    /// - Returns: true when with this both sides have media.
    func mediaConnected(_ role: CallRole, at now: Instant) -> Bool {
        guard case .answered(var answer) = phase else { preconditionFailure("media connects on an answered call") }
        switch role {
        case .caller: answer.callerConnectedAt = answer.callerConnectedAt ?? now
        case .callee: answer.calleeConnectedAt = answer.calleeConnectedAt ?? now
        }
        guard answer.callerConnectedAt != nil, answer.calleeConnectedAt != nil else {
            phase = .answered(answer)
            return false
        }
        answer.sdp = nil
        phase = .connected(answer, at: now)
        return true
    }

    func end(_ reason: EndReason, by: Party?, at now: Instant) {
        precondition(isLive, "a call ends once")
        var connectedAt: Instant?
        if case .connected(_, let at) = phase { connectedAt = at }
        var answer = answer
        answer?.sdp = nil
        phase = .ended(Ending(reason: reason, by: by, at: now, answer: answer, connectedAt: connectedAt))
    }

    // MARK: Records

    var record: CallRecord {
        var record = CallRecord(
            id: id, caller: caller, callerName: callerName, to: to, video: video, inviteDigest: inviteDigest,
            state: state, createdAt: createdAt, ringsUntil: ringsUntil)
        record.ringingAt = firstRangAt
        if let answer {
            record.answeredAt = answer.at
            record.answeredBy = answer.leg.device.party
            record.connectsUntil = answer.connectsUntil
            record.callerConnectedAt = answer.callerConnectedAt
            record.calleeConnectedAt = answer.calleeConnectedAt
        }
        if case .connected(_, let at) = phase { record.connectedAt = at }
        if let ending {
            record.connectedAt = ending.connectedAt
            record.endedAt = ending.at
            record.endReason = ending.reason
            record.endedBy = ending.by
        }
        return record
    }

    /// Takes up the phase of a record, once the legs are there.
    func restorePhase(from record: CallRecord) {
        var answer: Answer?
        if let at = record.answeredAt, let by = record.answeredBy, let until = record.connectsUntil,
            let leg = legs.first(where: { $0.device.party == by })
        {
            answer = Answer(
                leg: leg, at: at, connectsUntil: until, sdp: record.state == .answered ? offer.sdp : nil,
                callerConnectedAt: record.callerConnectedAt, calleeConnectedAt: record.calleeConnectedAt)
        }
        if let endedAt = record.endedAt, let reason = record.endReason {
            phase = .ended(
                Ending(reason: reason, by: record.endedBy, at: endedAt, answer: answer, connectedAt: record.connectedAt)
            )
        } else if let answer {
            phase = record.connectedAt.map { .connected(answer, at: $0) } ?? .answered(answer)
        } else {
            phase = record.ringingAt != nil ? .ringing : record.state == .waking ? .waking : .routing
        }
    }
}

/// One device's part in a call. `record` is what is known of it; the state moves forward only.
final class Leg {
    unowned let call: Call
    let device: Device
    private(set) var record: LegRecord
    /// The push made for it, if one was.
    var push: Push?
    /// The session that was told of the call, and the number of the event.
    var told: (session: SessionID, seq: UInt64)?
    /// Until when the told device has to give a sign of life.
    var deliveryDeadline: DeadlineQueue<Deadline>.Token?
    /// What the callee's side sent before it answered.
    var candidates = CandidateBuffer()

    init(call: Call, device: Device, push: PushID, createdAt: Instant) {
        self.call = call
        self.device = device
        record = LegRecord(call: call.id, device: device.key, push: push, state: .idle, createdAt: createdAt)
    }

    init(_ record: LegRecord, call: Call, device: Device) {
        self.call = call
        self.device = device
        self.record = record
    }

    var state: LegRecord.State { record.state }

    /// Still in the running for the call.
    var isOpen: Bool {
        switch record.state {
        case .idle, .offered, .waking, .ringing: true
        case .answered, .ended: false
        }
    }

    /// The device has given a sign of life, so it need not be pushed.
    var isAwake: Bool {
        switch record.state {
        case .ringing, .answered: true
        case .idle, .offered, .waking, .ended: false
        }
    }

    /// The device was told over a socket that stands, and has acknowledged it or has still time to.
    var isBeingTold: Bool {
        guard let told, let session = device.session, session.id == told.session, session.connection != nil else {
            return false
        }
        return deliveryDeadline != nil || told.seq <= session.acknowledged
    }

    func offer(at now: Instant) {
        precondition(isOpen, "only an open leg is told of its call")
        if record.state == .idle || record.state == .waking { record.state = .offered }
        record.offeredAt = record.offeredAt ?? now
        if let push, push.record.sentAt != nil { record.wokenAt = record.wokenAt ?? now }
    }

    func wake() {
        precondition(record.state == .idle || record.state == .offered, "a leg is woken once")
        record.state = .waking
    }

    func ring(at now: Instant) {
        precondition(isOpen && record.state != .ringing, "a leg starts to ring once")
        record.state = .ringing
        record.ringingAt = now
    }

    func answer(at now: Instant) {
        precondition(isOpen, "only an open leg answers")
        record.state = .answered
        record.answeredAt = now
    }

    func end(_ reason: EndReason, at now: Instant) {
        precondition(record.state != .ended, "a leg ends once")
        record.state = .ended
        record.endedAt = now
        record.endReason = reason
    }

    /// A device that could not be reached, and so was told nothing, can be reached after all.
    func reopen() {
        precondition(record.endReason == .noDevices, "only a leg nobody was told of opens again")
        record.state = .idle
        record.endedAt = nil
        record.endReason = nil
    }
}

/// Candidates kept, within bounds, for somebody who cannot have them yet.
struct CandidateBuffer {
    private(set) var candidates: [RawJSON] = []
    private(set) var isFinal = false
    private var bytes = 0

    var isEmpty: Bool { candidates.isEmpty && !isFinal }

    /// - Returns: how many did not fit any more.
    mutating func append(_ batch: CallCandidates, limits: CoreLimits) -> Int {
        var dropped = 0
        for candidate in batch.candidates {
            guard candidates.count < limits.bufferedCandidates,
                bytes + candidate.bytes.count <= limits.bufferedCandidateBytes
            else {
                dropped += 1
                continue
            }
            candidates.append(candidate)
            bytes += candidate.bytes.count
        }
        isFinal = isFinal || batch.isFinal
        return dropped
    }
}
