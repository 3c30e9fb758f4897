import CallVocabulary

/// A state change that the store must persist. A later record with the same key replaces an earlier one.
public enum StoreRecord: Equatable, Sendable {
    case device(DeviceRecord)
    /// The device is dropped, with its tokens.
    case deviceDropped(DeviceKey)
    case call(CallRecord)
    case leg(LegRecord)
    case push(PushRecord)
    /// The session descriptions of a call until media flows, and the invite's custom data until the call ends.
    case descriptions(DescriptionsRecord)
    case descriptionsDropped(CallID)
    /// A party of a live call lost its connection, or returned. Deleted with its call.
    case absence(AbsenceRecord)
    case missed(user: Handle, MissedCall)
    case missedCleared(user: Handle, upTo: Instant)
    /// Candidates for a device that has not been told of the call yet, appended to the earlier ones.
    case candidates(CandidateRecord)
    /// The call's candidates are not needed any more.
    case candidatesDropped(CallID)
    case group(CallGroup)
    case groupDeleted(String)
    case user(UserRecord)
    case rules(RulesRecord)
    case revocation(RevocationRecord)
    case alias(Alias)
    case aliasDeleted(Handle)
    /// Indirect, because it holds another record.
    indirect case event(EventRecord)
}

/// A device is keyed by its user: the same installation under another user is another device.
public struct DeviceKey: Hashable, Sendable {
    public var user: Handle
    public var device: DeviceID

    public init(user: Handle, device: DeviceID) {
        self.user = user
        self.device = device
    }
}

/// Key: `key`.
public struct DeviceRecord: Equatable, Sendable {
    public struct Token: Equatable, Sendable {
        public var token: PushToken
        public var registeredAt: Instant

        public init(token: PushToken, registeredAt: Instant) {
            self.token = token
            self.registeredAt = registeredAt
        }
    }

    public var key: DeviceKey
    public var platform: Platform
    public var app: String?
    public var name: String?
    /// All tokens, the one registered last at the end.
    public var tokens: [Token]
    /// When the device last opened a session, or showed in another way that its app runs, to within a day.
    public var seenAt: Instant
    /// Consecutive VoIP pushes without a report.
    public var unreportedStreak: Int
    /// Since when VoIP pushes are held back; nil for a device that is not suspended.
    public var suspendedAt: Instant?
    /// Probes sent since then: VoIP pushes to find out whether the device reports again.
    public var probes: Int
    /// When the next probe may be sent at the earliest.
    public var nextProbeAt: Instant?

    public init(
        key: DeviceKey, platform: Platform, app: String?, name: String?, tokens: [Token], seenAt: Instant,
        unreportedStreak: Int, suspendedAt: Instant?, probes: Int = 0, nextProbeAt: Instant? = nil
    ) {
        self.key = key
        self.platform = platform
        self.app = app
        self.name = name
        self.tokens = tokens
        self.seenAt = seenAt
        self.unreportedStreak = unreportedStreak
        self.suspendedAt = suspendedAt
        self.probes = probes
        self.nextProbeAt = nextProbeAt
    }
}

/// Key: `id`.
public struct CallRecord: Equatable, Sendable {
    public var id: CallID
    public var caller: Party
    public var callerName: String?
    public var to: CallTarget
    /// The length of a list of which `to` has the first handles only: the call has rung nobody. nil for a whole one.
    public var toCount: Int?
    public var video: Bool
    /// Distinguishes a repeated invite from one with another body under the same id.
    public var inviteDigest: UInt64
    public var state: CallState
    public var createdAt: Instant
    /// The ring deadline of the present target.
    public var ringsUntil: Instant
    /// How long each target may ring; nil for the server's default.
    public var ringTime: Duration? {
        get { compactRingTime.duration }
        set { compactRingTime = CompactDuration(newValue) }
    }
    /// When the first device rang.
    public var ringingAt: Instant?
    public var answeredAt: Instant?
    public var answeredBy: Party?
    /// The deadline for media; nil before the answer.
    public var connectsUntil: Instant?
    public var callerConnectedAt: Instant?
    public var calleeConnectedAt: Instant?
    public var connectedAt: Instant?
    public var endedAt: Instant?
    public var endReason: EndReason?
    public var endedBy: Party?
    /// The call that continues in place of this one, after a glare.
    public var mergedInto: CallID?
    /// The users called, when `to` does not determine them: the members of a group at the time, and users behind an
    /// alias.
    public var members: [Handle]?
    /// Progress of a hunt; nil for a call that rings all callees at once.
    public var hunt: HuntProgress?
    /// For each member, how long after the one before it is rung; nil for the server's hunt step. Empty for a call
    /// whose group has no delays. The first member of a group that rings all has its delay from the group's start; that of
    /// a hunt has nil.
    public var huntSteps: [Duration?] = []
    /// The targets rung after the first one, in order.
    public var forwards: [Forward] = []
    /// How long the call may last; nil for the server's limit.
    public var maxDuration: Duration? {
        get { compactMaxDuration.duration }
        set { compactMaxDuration = CompactDuration(newValue) }
    }
    /// When the party in ``endedBy`` lost its connection or its session, for a call that ended because of that.
    public var lostAt: Instant?
    /// How many events the call has had.
    public var eventCount = 0

    private var compactRingTime = CompactDuration(nil)
    private var compactMaxDuration = CompactDuration(nil)

    /// When the conversation ended; nil while the call is live.
    public var talkEndedAt: Instant? { lostAt.map { max($0, connectedAt ?? $0) } ?? endedAt }

    /// Progress of a call whose members are rung one after the other.
    public struct HuntProgress: Equatable, Sendable {
        /// How many of the members have been rung.
        public var rung: Int
        /// When the next member is rung; nil after the last.
        public var nextAt: Instant?

        public init(rung: Int, nextAt: Instant?) {
            self.rung = rung
            self.nextAt = nextAt
        }
    }

    /// A target that was rung because the one before it did not answer.
    public struct Forward: Equatable, Sendable {
        /// Why the target before did not answer: `busy`, `ring_timeout`, `no_devices` or `unknown_callee`.
        public var reason: EndReason
        public var to: CallTarget
        public var at: Instant
        /// The index in ``CallRecord/members`` of the first user that this target added.
        public var firstMember: Int

        public init(reason: EndReason, to: CallTarget, at: Instant, firstMember: Int) {
            self.reason = reason
            self.to = to
            self.at = at
            self.firstMember = firstMember
        }
    }

    public init(
        id: CallID, caller: Party, callerName: String?, to: CallTarget, video: Bool, inviteDigest: UInt64,
        state: CallState, createdAt: Instant, ringsUntil: Instant
    ) {
        self.id = id
        self.caller = caller
        self.callerName = callerName
        self.to = to
        self.video = video
        self.inviteDigest = inviteDigest
        self.state = state
        self.createdAt = createdAt
        self.ringsUntil = ringsUntil
    }
}

/// One device's part in a call. Key: `call`, `device`.
public struct LegRecord: Equatable, Sendable {
    public enum State: String, Sendable, CaseIterable {
        /// In the call, but not notified yet.
        case idle
        /// `call.incoming` was delivered to a live session.
        case offered
        /// A push is queued or was sent.
        case waking
        case ringing
        case answered
        case ended
    }

    public var call: CallID
    public var device: DeviceKey
    /// Allocated with the leg; a push with this id exists only if one was intended.
    public var push: PushID
    public var state: State
    public var createdAt: Instant
    public var offeredAt: Instant?
    /// When the device opened a session after a push of this call.
    public var wokenAt: Instant?
    public var ringingAt: Instant?
    public var answeredAt: Instant?
    public var endedAt: Instant?
    public var endReason: EndReason?

    public init(call: CallID, device: DeviceKey, push: PushID, state: State, createdAt: Instant) {
        self.call = call
        self.device = device
        self.push = push
        self.state = state
        self.createdAt = createdAt
    }
}

/// One line of the push ledger. Key: `id`.
public struct PushRecord: Equatable, Sendable {
    public var id: PushID
    public var purpose: PushPurpose
    /// The call that rings, or was missed.
    public var call: CallID
    public var device: DeviceKey
    public var token: PushToken
    public var status: ProviderStatus
    /// nil until sent, and for a push that never reached the device: cancelled, expired or rejected. `notRequired` from
    /// `sent` on when no report is required.
    public var report: ReportStatus?
    /// The provider's reason for a rejection, or why the outcome is unknown.
    public var reason: String?
    /// The error in the device's report, if it has one.
    public var reportError: String?
    public var intendedAt: Instant
    /// When the push expires: at the ring deadline, for a call.
    public var expiresAt: Instant
    public var sentAt: Instant?
    /// When the provider's answer arrived or was given up.
    public var answeredAt: Instant?
    /// When the device's report arrived or was given up.
    public var reportedAt: Instant?
    /// The report deadline, while a report is awaited or may still follow an act.
    public var reportDueAt: Instant?

    public init(
        id: PushID, purpose: PushPurpose = .call, call: CallID, device: DeviceKey, token: PushToken,
        intendedAt: Instant, expiresAt: Instant
    ) {
        self.id = id
        self.purpose = purpose
        self.call = call
        self.device = device
        self.token = token
        self.intendedAt = intendedAt
        self.expiresAt = expiresAt
        status = .intended
    }

    /// How the provider delivers the push; nil for a token that does not suit its purpose.
    public var delivery: PushDelivery? { PushDelivery(token, for: purpose) }

    /// Whether the device must report the push; then the report is awaited and counts for the device's health.
    public var owesReport: Bool { purpose == .call && delivery?.isReported == true }
}

/// The media descriptions of a call's parties, byte for byte. Key: `call`.
public struct DescriptionsRecord: Equatable, Sendable {
    public var call: CallID
    /// The SDP of the invite.
    public var offer: RawJSON?
    /// The invite's custom data.
    public var custom: RawJSON?
    /// The SDP of the answer; nil before it.
    public var answer: RawJSON?

    public init(call: CallID, offer: RawJSON? = nil, custom: RawJSON? = nil, answer: RawJSON? = nil) {
        self.call = call
        self.offer = offer
        self.custom = custom
        self.answer = answer
    }

    public var isEmpty: Bool { offer == nil && custom == nil && answer == nil }

    var bytes: Int { [offer, custom, answer].reduce(0) { $0 + ($1?.bytes.count ?? 0) } }
}

/// A period in which a party of a live call had no connection. Key: `call`, `role`, `lostAt`.
public struct AbsenceRecord: Equatable, Sendable {
    public var call: CallID
    public var role: CallRole
    public var lostAt: Instant
    /// nil until the party returns; stays nil when the call ends first.
    public var returnedAt: Instant?

    public init(call: CallID, role: CallRole, lostAt: Instant, returnedAt: Instant? = nil) {
        self.call = call
        self.role = role
        self.lostAt = lostAt
        self.returnedAt = returnedAt
    }
}

/// One batch of candidates of one side. Without a key: batches are kept in order of arrival, and deleted with their
/// call.
public struct CandidateRecord: Equatable, Sendable {
    public var call: CallID
    /// The callee's device that sent them; nil for the caller's.
    public var device: DeviceKey?
    public var candidates: [RawJSON]
    public var isFinal: Bool

    public init(call: CallID, device: DeviceKey?, candidates: [RawJSON], isFinal: Bool) {
        self.call = call
        self.device = device
        self.candidates = candidates
        self.isFinal = isFinal
    }
}

/// Key: `handle`. Only users with a policy of their own have one.
public struct UserRecord: Equatable, Sendable {
    public var handle: Handle
    public var policy: UserPolicy

    public init(handle: Handle, policy: UserPolicy) {
        self.handle = handle
        self.policy = policy
    }
}

/// Key: `handle`. Empty rules replace earlier ones, and are the same as no record.
public struct RulesRecord: Equatable, Sendable {
    public var handle: Handle
    public var rules: CallRules

    public init(handle: Handle, rules: CallRules) {
        self.handle = handle
        self.rules = rules
    }
}

/// The user's tokens from before this time are refused. Key: `handle`.
public struct RevocationRecord: Equatable, Sendable {
    public var handle: Handle
    public var issuedBefore: Instant

    public init(handle: Handle, issuedBefore: Instant) {
        self.handle = handle
        self.issuedBefore = issuedBefore
    }
}

/// A stored call with its legs, pushes and absences.
public struct StoredCall: Equatable, Sendable {
    public var call: CallRecord
    public var legs: [LegRecord]
    public var pushes: [PushRecord]
    /// In chronological order.
    public var absences: [AbsenceRecord]

    public init(call: CallRecord, legs: [LegRecord], pushes: [PushRecord], absences: [AbsenceRecord] = []) {
        self.call = call
        self.legs = legs
        self.pushes = pushes
        self.absences = absences
    }
}

/// The state that a store restores at the start: everything that has not ended, and the users concerned.
public struct RecoveredState: Equatable, Sendable {
    /// The callers and callees of `calls`, and the users of the legs and notices. All others are looked up when they
    /// are needed.
    public var users: [DirectoryEntry] = []
    /// All devices that are suspended.
    public var suspended: [DeviceKey] = []
    /// Live calls, and calls with an open push.
    public var calls: [CallRecord] = []
    /// All legs of `calls`.
    public var legs: [LegRecord] = []
    /// All pushes of `calls` that made devices ring.
    public var pushes: [PushRecord] = []
    /// Open pushes about missed calls, in the order they were made. Their calls have ended.
    public var notices: [Notice] = []
    public var descriptions: [DescriptionsRecord] = []
    /// Of `calls`, in chronological order.
    public var absences: [AbsenceRecord] = []
    /// Of `calls`, in order of arrival.
    public var candidates: [CandidateRecord] = []

    public struct Notice: Equatable, Sendable {
        public var push: PushRecord
        public var from: Handle
        public var fromName: String?
        public var video: Bool

        public init(push: PushRecord, from: Handle, fromName: String?, video: Bool) {
            self.push = push
            self.from = from
            self.fromName = fromName
            self.video = video
        }
    }

    /// The names that `users` must have, each once, in a fixed order.
    public var userNames: [Handle] {
        var seen: Set<Handle> = []
        let callees = calls.flatMap { [$0.caller.user] + Callees($0).handles }
        return (callees + legs.map(\.device.user) + notices.map(\.push.device.user)).filter {
            seen.insert($0).inserted
        }
    }

    public init() {}
}
