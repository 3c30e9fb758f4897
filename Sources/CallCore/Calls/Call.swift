import CallVocabulary
import Determinism

/// One call and its state machine.
///
/// ```
/// routing ─▶ waking ─▶ ringing ─▶ answered ─▶ connected
///    └──────────┴─────────┴──────────┴────────────┴────▶ ended
/// ```
/// States only move forward. Each transition is a method, which traps in a wrong state.
final class Call {
    enum Phase {
        case routing
        case waking
        case ringing
        case answered(Answer)
        case connected(Answer, at: Instant)
        case ended(Ending)

        var state: CallState {
            switch self {
            case .routing: .routing
            case .waking: .waking
            case .ringing: .ringing
            case .answered: .answered
            case .connected: .connected
            case .ended: .ended
            }
        }
    }

    /// The leg that answered, and which sides have media.
    struct Answer {
        let leg: Leg
        let at: Instant
        let connectsUntil: Instant
        var callerConnectedAt: Instant?
        var calleeConnectedAt: Instant?
    }

    struct Ending {
        let reason: EndReason
        let by: Party?
        let at: Instant
        let answer: Answer?
        let connectedAt: Instant?
        /// The call that continues in place of this one.
        let mergedInto: CallID?
        /// When the connection was lost, for a call that ended because of that.
        let lostAt: Instant?
    }

    let id: CallID
    let caller: Party
    let callerName: String?
    private(set) var to: CallTarget
    /// The bytes of `to` in a frame.
    private var toBytes: Int
    /// The length of a list of which `to` has the first handles only.
    private(set) var toCount: Int?
    private(set) var callees: Callees
    let video: Bool
    let inviteDigest: UInt64
    let createdAt: Instant
    /// The ring deadline of the present target.
    private(set) var ringsUntil: Instant
    /// How long each target may ring, and how long the call may last; nil for the server's values.
    let ringTime: Duration?
    let maxDuration: Duration?
    /// The targets rung after the first one.
    private(set) var forwards: [CallRecord.Forward] = []
    /// The caller's device; no other device acts as the caller.
    let callerDevice: Device

    private(set) var phase = Phase.routing { didSet { state = phase.state } }
    /// The phase without its payload.
    private(set) var state = CallState.routing
    private(set) var firstRangAt: Instant?
    private(set) var legs: [Leg] = []
    /// `legs` by device; filled from ``manyLegs`` on.
    private var legsByDevice: [ObjectIdentifier: Leg] = [:]
    /// The callees, in ring order.
    var members: [User] = []
    /// The number of members without a device when the call came to them.
    var awaitedHandles = 0
    /// Progress of a hunt; nil for a call that rings all callees at once.
    private(set) var hunt: CallRecord.HuntProgress?
    /// When the hunt rings the next member.
    var huntDeadline: DeadlineQueue<Deadline>.Token?
    /// Both sides' SDP, until media flows; the invite's custom data, until the call ends.
    var descriptions: DescriptionsRecord
    /// The caller's candidates, for devices that have not been told of the call or of all of them yet.
    var callerCandidates = CandidateBuffer()
    /// When those that ring are told of further candidates; nil when they know all.
    var candidatesDeadline: DeadlineQueue<Deadline>.Token?
    /// Whether the store has candidates of this call.
    var hasStoredCandidates = false
    /// The users for whom a push was made, while the call is unanswered.
    private var pushedUsers: Set<ObjectIdentifier> = []
    /// The tokens pushed for the call, while it is unanswered. A token gets at most one push per call, even when it
    /// moves to another device.
    private var spentTokens: [PushToken.Address: ObjectIdentifier] = [:]
    /// The invite has been answered; from then on the caller gets events.
    var isAnnounced = false
    /// The parties without a connection.
    var absences = Absences()
    /// The next deadline: ring, connect, or leaving memory.
    var deadline: DeadlineQueue<Deadline>.Token?
    /// How many events the call has had.
    var eventCount = 0
    /// The position of its last record in ``EffectBuffer``.
    var recordPlace: Int?
    /// The store generation in which one of its records was last written; 0 for none since it was read.
    var generation: UInt64 = 0
    /// The call was restored from the archive.
    let isFromArchive: Bool
    /// The user who asked for a call of the archive.
    var archivedBy: Handle?
    /// When the call is to leave memory, while it is one of the ``Tombstones``.
    var leavesAt: Instant?
    /// The bytes that its caller's share of the memory was last charged with.
    var countedBytes = 0

    init(
        invite: Invite, digest: UInt64, callees: Callees, callerDevice: Device, callerName: String?,
        createdAt: Instant, ringsUntil: Instant
    ) {
        id = invite.call
        caller = callerDevice.party
        self.callerDevice = callerDevice
        self.callerName = callerName
        to = invite.to
        toBytes = invite.to.wireBytes
        self.callees = callees
        video = invite.video
        inviteDigest = digest
        self.createdAt = createdAt
        self.ringsUntil = ringsUntil
        ringTime = invite.ringTime
        maxDuration = invite.maxDuration
        descriptions = DescriptionsRecord(call: invite.call, offer: invite.sdp, custom: invite.custom)
        hunt = callees.isHunted ? CallRecord.HuntProgress(rung: 0, nextAt: nil) : nil
        isFromArchive = false
    }

    /// Restores a call from its record. ``restorePhase(from:)`` sets its phase once its legs are added.
    init(_ record: CallRecord, callerDevice: Device, descriptions: DescriptionsRecord?, isFromArchive: Bool) {
        id = record.id
        caller = record.caller
        self.callerDevice = callerDevice
        callerName = record.callerName
        to = record.to
        toBytes = record.to.wireBytes
        toCount = record.toCount
        callees = Callees(record)
        video = record.video
        inviteDigest = record.inviteDigest
        createdAt = record.createdAt
        ringsUntil = record.ringsUntil
        ringTime = record.ringTime
        maxDuration = record.maxDuration
        forwards = record.forwards
        firstRangAt = record.ringingAt
        eventCount = record.eventCount
        self.descriptions = descriptions ?? DescriptionsRecord(call: record.id)
        hunt = record.hunt
        self.isFromArchive = isFromArchive
        isAnnounced = true
    }

    /// The present target.
    var target: CallTarget { forwards.last?.to ?? to }

    var isUnanswered: Bool { state.isRingingPhase }
    var isLive: Bool { state.isLive }
    /// Whether a backend placed the call: then its caller has no session, and is never away.
    var isFromBackend: Bool { callerDevice.isBackend }

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

    /// When the present stage times out.
    var expiresAt: Instant? {
        switch phase {
        case .routing, .waking, .ringing: ringsUntil
        case .answered(let answer): answer.connectsUntil
        case .connected, .ended: nil
        }
    }

    /// Whether the device is the caller's, or the one that answered: without it the call ends.
    func isParty(_ device: Device) -> Bool { callerDevice === device || answer?.leg.device === device }

    func partyRole(of device: Device) -> CallRole? {
        if callerDevice === device { return .caller }
        return answer?.leg.device === device ? .callee : nil
    }

    /// Whether the user has declined on one of the devices. `busy` is set by a device and does not count.
    func isDeclined(by user: User) -> Bool {
        user.devices.contains { leg(of: $0)?.record.endReason == .declined }
    }

    /// Whether the present target's turn has come at this user; without a hunt it always has.
    func rings(_ user: User) -> Bool { isTurn(of: user, from: callees.first) }

    /// Whether the user's turn has come, at the present target or before the call was forwarded.
    func hasRung(_ user: User) -> Bool { isTurn(of: user, from: 0) }

    private func isTurn(of user: User, from first: Int) -> Bool {
        guard let index = callees.position(of: user.handle), index >= first else { return false }
        return hunt.map { index < $0.rung } ?? true
    }

    /// Whether the user is the caller or has a leg that has not ended.
    func engages(_ user: User) -> Bool {
        func isEngaged(_ device: Device) -> Bool { leg(of: device).map { $0.state != .ended } ?? false }
        return callerDevice.user === user || user.devices.contains(where: isEngaged)
            || user.dropped.values.contains(where: isEngaged)
    }

    /// Whether a push was made in this call, and whether one was made for a device of the user.
    var hasPushed: Bool { !pushedUsers.isEmpty }
    func hasPushed(to user: User) -> Bool { pushedUsers.contains(ObjectIdentifier(user)) }
    func notePush(to user: User) { pushedUsers.insert(ObjectIdentifier(user)) }

    /// Whether a device of the user may still answer the call.
    func isOffered(to user: User) -> Bool { user.devices.contains { leg(of: $0)?.isOpen == true } }

    /// Bytes of the caller's data in `call.incoming`, and in the candidates that follow it.
    var contentBytes: Int {
        (descriptions.offer?.bytes.count ?? 0) + (descriptions.custom?.bytes.count ?? 0) + toBytes
            + callerCandidates.bytes
    }

    /// Whether this unanswered call goes from `callee` to `caller` alone, and so collides with one the other way.
    func isGlaring(with caller: User, to callee: User) -> Bool {
        isUnanswered && callees.isOne && callees.handles == [caller.handle] && callerDevice.user === callee
    }

    // MARK: Memory

    /// About how many bytes the call takes in memory, with its legs, its pushes and the names that it waits for.
    var bytes: Int {
        let content = toBytes + descriptions.bytes + callerCandidates.bytes + (callerName?.utf8.count ?? 0)
        return Self.bytes(content: content, callees: callees.handles.count)
            + members.count * Self.bytesOfName + legs.count * Self.bytesOfLeg
    }

    /// The same for a call that an invite would begin, without its devices.
    static func bytes(of invite: Invite, callerName: String?) -> Int {
        let callees = if case .users(let handles) = invite.to { handles.count } else { 1 }
        let content = invite.payloadBytes + (callerName?.utf8.count ?? 0)
        return bytes(content: content, callees: callees) + callees * bytesOfName
    }

    private static func bytes(content: Int, callees: Int) -> Int { bytesOfCall + content + callees * bytesOfCallee }

    static let bytesOfCall = 2_300
    static let bytesOfCallee = 50
    /// A name that nobody has. That of a user is in memory anyway.
    static let bytesOfName = 500
    static let bytesOfLeg = 1_200

    /// Of a call that ends and has rung nobody: keeps of more than a few callees only those who exist, and of a list only
    /// the first handles and its length.
    func keepCallees(who exist: (Handle) -> Bool) {
        guard legs.isEmpty, forwards.isEmpty else { return }
        if case .users(let handles) = to, handles.count > Callees.few {
            toCount = handles.count
            to = .users(Array(handles.prefix(Callees.few)))
            toBytes = to.wireBytes
        } else if callees.handles.count <= Callees.few {
            return
        }
        callees.keep(exist)
        hunt = nil
    }

    // MARK: Legs

    /// The number of legs from which on they are found through ``legsByDevice``.
    private static let manyLegs = 16

    func add(_ leg: Leg) {
        legs.append(leg)
        guard legs.count >= Self.manyLegs else { return }
        if legsByDevice.isEmpty {
            for leg in legs { legsByDevice[ObjectIdentifier(leg.device)] = leg }
        } else {
            legsByDevice[ObjectIdentifier(leg.device)] = leg
        }
    }

    func leg(of device: Device) -> Leg? {
        if legs.count < Self.manyLegs {
            legs.first { $0.device === device }
        } else {
            legsByDevice[ObjectIdentifier(device)]
        }
    }

    /// Removes the legs when the call leaves memory.
    func removeLegs() {
        legs = []
        legsByDevice = [:]
    }

    // MARK: Tokens

    /// Whether a push for a leg other than `leg` was sent to the token.
    func isSpent(_ token: PushToken, butBy leg: Leg?) -> Bool {
        guard !spentTokens.isEmpty, let spender = spentTokens[token.address] else { return false }
        return leg.map { ObjectIdentifier($0) != spender } ?? true
    }

    func spend(_ token: PushToken, by leg: Leg) { spentTokens[token.address] = ObjectIdentifier(leg) }

    /// Makes the token usable again: its push was certainly not processed.
    func giveBack(_ token: PushToken) { spentTokens[token.address] = nil }

    // MARK: Transitions

    func wake() {
        guard case .routing = phase else { preconditionFailure("only a call being routed starts to wake") }
        phase = .waking
    }

    /// Advances the hunt.
    /// - Parameter rung: how many handles have had their turn.
    func huntOn(to rung: Int, nextAt: Instant?) {
        precondition(hunt.map { $0.rung < rung } == true, "only a hunt goes on")
        hunt = CallRecord.HuntProgress(rung: rung, nextAt: nextAt)
    }

    /// Replaces the present target, which did not answer, by the next one.
    func forward(to target: CallTarget, _ callees: Callees, reason: EndReason, at now: Instant, ringsUntil: Instant) {
        precondition(isUnanswered, "only an unanswered call is forwarded")
        self.callees = callees
        self.ringsUntil = ringsUntil
        forwards.append(CallRecord.Forward(reason: reason, to: target, at: now, firstMember: callees.first))
        hunt = callees.isHunted ? CallRecord.HuntProgress(rung: callees.first, nextAt: nil) : nil
    }

    /// Ends the hunt: no further member is rung.
    func endHunt() { hunt?.nextAt = nil }

    func ring(at now: Instant) {
        switch phase {
        case .routing, .waking: phase = .ringing
        case .ringing, .answered, .connected, .ended: preconditionFailure("a call starts to ring once")
        }
        firstRangAt = now
    }

    func answer(by leg: Leg, at now: Instant, connectsUntil: Instant) {
        precondition(isUnanswered, "a call is answered once")
        endHunt()
        spentTokens = [:]
        pushedUsers = []
        phase = .answered(Answer(leg: leg, at: now, connectsUntil: connectsUntil))
    }

    /// - Returns: true when both sides now have media.
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
        phase = .connected(answer, at: now)
        return true
    }

    func end(_ reason: EndReason, by: Party?, at now: Instant, mergedInto: CallID?, lostAt: Instant?) {
        precondition(isLive, "a call ends once")
        var connectedAt: Instant?
        if case .connected(_, let at) = phase { connectedAt = at }
        endHunt()
        spentTokens = [:]
        pushedUsers = []
        phase = .ended(
            Ending(
                reason: reason, by: by, at: now, answer: answer, connectedAt: connectedAt, mergedInto: mergedInto,
                lostAt: lostAt))
    }

    // MARK: Records

    var record: CallRecord {
        var record = CallRecord(
            id: id, caller: caller, callerName: callerName, to: to, video: video, inviteDigest: inviteDigest,
            state: state, createdAt: createdAt, ringsUntil: ringsUntil)
        record.toCount = toCount
        record.ringingAt = firstRangAt
        switch phase {
        case .routing, .waking, .ringing: break
        case .answered(let answer): record.take(answer)
        case .connected(let answer, let at):
            record.take(answer)
            record.connectedAt = at
        case .ended(let ending):
            if let answer = ending.answer { record.take(answer) }
            record.connectedAt = ending.connectedAt
            record.endedAt = ending.at
            record.endReason = ending.reason
            record.endedBy = ending.by
            record.mergedInto = ending.mergedInto
            record.lostAt = ending.lostAt
        }
        record.members = callees.isTold ? nil : callees.handles
        record.hunt = hunt
        record.huntSteps = callees.steps
        record.ringTime = ringTime
        record.forwards = forwards
        record.maxDuration = maxDuration
        record.eventCount = eventCount
        return record
    }

    /// Sets the phase from a record; call it once the legs are added.
    func restorePhase(from record: CallRecord) {
        var answer: Answer?
        if let at = record.answeredAt, let by = record.answeredBy, let until = record.connectsUntil,
            let leg = legs.first(where: { $0.device.party == by })
        {
            answer = Answer(
                leg: leg, at: at, connectsUntil: until, callerConnectedAt: record.callerConnectedAt,
                calleeConnectedAt: record.calleeConnectedAt)
        }
        if let endedAt = record.endedAt, let reason = record.endReason {
            phase = .ended(
                Ending(
                    reason: reason, by: record.endedBy, at: endedAt, answer: answer, connectedAt: record.connectedAt,
                    mergedInto: record.mergedInto, lostAt: record.lostAt))
        } else if let answer {
            phase = record.connectedAt.map { .connected(answer, at: $0) } ?? .answered(answer)
        } else {
            phase = record.ringingAt != nil ? .ringing : record.state == .waking ? .waking : .routing
        }
    }
}

extension CallRecord {
    fileprivate mutating func take(_ answer: Call.Answer) {
        answeredAt = answer.at
        answeredBy = answer.leg.device.party
        connectsUntil = answer.connectsUntil
        callerConnectedAt = answer.callerConnectedAt
        calleeConnectedAt = answer.calleeConnectedAt
    }
}
