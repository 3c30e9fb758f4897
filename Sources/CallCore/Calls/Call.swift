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

    /// Who won, and how far media has come.
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
        /// The call that goes on in place of this one.
        let mergedInto: CallID?
        /// When the connection was lost whose loss ended the call.
        let lostAt: Instant?
    }

    let id: CallID
    let caller: Party
    let callerName: String?
    let to: CallTarget
    let callees: Callees
    let video: Bool
    let inviteDigest: UInt64
    let createdAt: Instant
    let ringsUntil: Instant
    /// The caller's device; only it acts as the caller.
    let callerDevice: Device

    private(set) var phase = Phase.routing { didSet { state = phase.state } }
    /// What `phase` is, without what belongs to it.
    private(set) var state = CallState.routing
    private(set) var firstRangAt: Instant?
    private(set) var legs: [Leg] = []
    /// By their devices, once they are many.
    private var legsByDevice: [ObjectIdentifier: Leg] = [:]
    /// Those of the callees that the directory knows.
    var members: [User] = []
    /// How far a hunt has come; nil for a call that rings everybody at once.
    private(set) var hunt: CallRecord.HuntProgress?
    /// When the next member's turn comes.
    var huntDeadline: DeadlineQueue<Deadline>.Token?
    /// Both sides' SDP, until media flows; the invite's custom data, until the call is over.
    var descriptions: DescriptionsRecord
    /// The caller's candidates, for whoever is still to be told of them.
    var callerCandidates = CandidateBuffer()
    /// Candidates of this call are on disk.
    var hasStoredCandidates = false
    /// A push was made for it, which counts once against the bounds of its caller.
    var hasPushed = false
    /// Where its pushes went, while it is unanswered: one to a token at most, whichever device the token was registered
    /// under at the time.
    private var spentTokens: [PushToken.Address: ObjectIdentifier] = [:]
    /// The invite has been answered; from then on the caller hears of changes by events.
    var isAnnounced = false
    /// Which parties have no connection.
    var absences = Absences()
    /// The one thing that falls due next: ring, connect, or being forgotten.
    var deadline: DeadlineQueue<Deadline>.Token?
    /// Where its last record went, for ``EffectBuffer``.
    var recordPlace: Int?
    /// It was over long ago, and somebody asked for it.
    let isFromArchive: Bool

    init(
        invite: Invite, digest: UInt64, callees: Callees, callerDevice: Device, callerName: String?,
        createdAt: Instant, ringsUntil: Instant
    ) {
        id = invite.call
        caller = callerDevice.party
        self.callerDevice = callerDevice
        self.callerName = callerName
        to = invite.to
        self.callees = callees
        video = invite.video
        inviteDigest = digest
        self.createdAt = createdAt
        self.ringsUntil = ringsUntil
        descriptions = DescriptionsRecord(call: invite.call, offer: invite.sdp, custom: invite.custom)
        hunt = callees.isHunted ? CallRecord.HuntProgress(rung: 0, nextAt: nil) : nil
        isFromArchive = false
    }

    /// As it was when the process ended. Its phase is taken up once its legs are there: ``restorePhase(from:)``.
    init(_ record: CallRecord, callerDevice: Device, descriptions: DescriptionsRecord?, isFromArchive: Bool) {
        id = record.id
        caller = record.caller
        self.callerDevice = callerDevice
        callerName = record.callerName
        to = record.to
        callees = Callees(record)
        video = record.video
        inviteDigest = record.inviteDigest
        createdAt = record.createdAt
        ringsUntil = record.ringsUntil
        firstRangAt = record.ringingAt
        self.descriptions = descriptions ?? DescriptionsRecord(call: record.id)
        hunt = record.hunt
        self.isFromArchive = isFromArchive
        isAnnounced = true
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

    func partyRole(of device: Device) -> CallRole? {
        if callerDevice === device { return .caller }
        return answer?.leg.device === device ? .callee : nil
    }

    /// Whether the user has said no on one of the devices. `busy` is the word of a device, not of its user.
    func isDeclined(by user: User) -> Bool {
        user.devices.contains { leg(of: $0)?.record.endReason == .declined }
    }

    /// Whether it is the user's turn to be rung, or has been.
    func rings(_ user: User) -> Bool {
        guard let index = callees.position(of: user.handle) else { return false }
        return hunt.map { index < $0.rung } ?? true
    }

    /// Whether the user has a part in it that is not over.
    func engages(_ user: User) -> Bool {
        callerDevice.user === user || legs.contains { $0.device.user === user && $0.state != .ended }
    }

    /// From one user to one other.
    func isGlaring(with caller: User, to callee: User) -> Bool {
        isUnanswered && callees.isOne && callees.handles == [caller.handle] && callerDevice.user === callee
    }

    // MARK: Legs

    /// From so many legs on, they are looked up.
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

    /// The call leaves memory.
    func removeLegs() {
        legs = []
        legsByDevice = [:]
    }

    // MARK: Tokens

    /// Whether a push for another leg than this one has gone to the token.
    func isSpent(_ token: PushToken, butBy leg: Leg?) -> Bool {
        guard !spentTokens.isEmpty, let spender = spentTokens[token.address] else { return false }
        return leg.map { ObjectIdentifier($0) != spender } ?? true
    }

    func spend(_ token: PushToken, by leg: Leg) { spentTokens[token.address] = ObjectIdentifier(leg) }

    /// The push came back unprocessed.
    func giveBack(_ token: PushToken) { spentTokens[token.address] = nil }

    // MARK: Transitions

    func wake() {
        guard case .routing = phase else { preconditionFailure("only a call being routed starts to wake") }
        phase = .waking
    }

    /// The next member's turn has come.
    func ringNext(at nextAt: Instant?) {
        guard let rung = hunt?.rung, rung < callees.handles.count else {
            preconditionFailure("only a hunt with members left goes on")
        }
        hunt = CallRecord.HuntProgress(rung: rung + 1, nextAt: nextAt)
    }

    /// Nobody's turn comes any more.
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
        phase = .answered(Answer(leg: leg, at: now, connectsUntil: connectsUntil))
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
        phase = .connected(answer, at: now)
        return true
    }

    func end(_ reason: EndReason, by: Party?, at now: Instant, mergedInto: CallID?, lostAt: Instant?) {
        precondition(isLive, "a call ends once")
        var connectedAt: Instant?
        if case .connected(_, let at) = phase { connectedAt = at }
        endHunt()
        spentTokens = [:]
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
        return record
    }

    /// Takes up the phase of a record, once the legs are there.
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
