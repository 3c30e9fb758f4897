/// A client message: a request, which is answered once, or a notification, which is not.
public enum ClientMessage: Equatable, Sendable {
    case request(RequestID, ClientRequest)
    case notification(ClientNotification)
    /// A notification sent as a request: it is handled like the notification and answered with `{}`, because JSON-RPC
    /// requires a reply.
    case answeredNotification(RequestID, ClientNotification)
}

/// JSON-RPC requests from client to server, grouped by the session that they need. Large, rare payloads are indirect: a
/// request is copied several times.
public enum ClientRequest: Equatable, Sendable {
    /// Needs no session.
    indirect case open(SessionOpen)
    case session(SessionRequest)
    case call(CallRequest)
    case owner(OwnerRequest)

    /// The call that the request is about; nil for other requests.
    public var call: CallID? {
        switch self {
        case .call(let request): request.call
        case .owner(.invite(let invite)): invite.call
        case .open, .session, .owner: nil
        }
    }
}

/// Requests about the session itself.
public enum SessionRequest: Equatable, Sendable {
    case state(AppState)
    case close
}

/// Requests about one call. A session of a wake token may make them about its own call.
public enum CallRequest: Equatable, Sendable {
    indirect case report(PushReport)
    case ringing(CallID)
    case answer(CallID, sdp: RawJSON?)
    case decline(CallID, DeclineReason)
    case connected(CallID)
    case hangup(CallID, HangupReason)
    case update(CallUpdate)
    case get(CallID)

    public var call: CallID {
        switch self {
        case .report(let report): report.call
        case .ringing(let call), .answer(let call, _), .decline(let call, _), .connected(let call),
            .hangup(let call, _), .get(let call):
            call
        case .update(let update): update.call
        }
    }
}

/// Requests that need a session opened with a user token.
public enum OwnerRequest: Equatable, Sendable {
    case logout
    case updateDevice(push: [PushToken])
    case invite(Invite)
    case list(after: HistoryCursor?, limit: Int?)
    case clearMissed(upTo: Instant)
}

/// Constructors for each request, without its group.
extension ClientRequest {
    public static func state(_ state: AppState) -> Self { .session(.state(state)) }
    public static var close: Self { .session(.close) }
    public static func report(_ report: PushReport) -> Self { .call(.report(report)) }
    public static func ringing(_ call: CallID) -> Self { .call(.ringing(call)) }
    public static func answer(_ call: CallID, sdp: RawJSON?) -> Self { .call(.answer(call, sdp: sdp)) }
    public static func decline(_ call: CallID, _ reason: DeclineReason) -> Self { .call(.decline(call, reason)) }
    public static func connected(_ call: CallID) -> Self { .call(.connected(call)) }
    public static func hangup(_ call: CallID, _ reason: HangupReason) -> Self { .call(.hangup(call, reason)) }
    public static func update(_ update: CallUpdate) -> Self { .call(.update(update)) }
    public static func get(_ call: CallID) -> Self { .call(.get(call)) }
    public static var logout: Self { .owner(.logout) }
    public static func updateDevice(push: [PushToken]) -> Self { .owner(.updateDevice(push: push)) }
    public static func invite(_ invite: Invite) -> Self { .owner(.invite(invite)) }
    public static func list(after: HistoryCursor?, limit: Int?) -> Self { .owner(.list(after: after, limit: limit)) }
    public static func clearMissed(upTo time: Instant) -> Self { .owner(.clearMissed(upTo: time)) }
}

/// JSON-RPC notifications from client to server.
public enum ClientNotification: Equatable, Sendable {
    /// The client has handled all server events up to `seq`.
    case ack(seq: UInt64)
    case candidates(CallCandidates)
}

public enum AppState: String, Sendable, CaseIterable {
    case foreground, background
}

/// `session.open`.
public struct SessionOpen: Equatable, Sendable {
    /// A client JWT, or a push's wake token.
    @Secret public var token: String
    public var device: DeviceDescription
    /// nil keeps the device's tokens; a list replaces them.
    public var push: [PushToken]?
    public var resume: ResumeRequest?

    public init(token: String, device: DeviceDescription, push: [PushToken]? = nil, resume: ResumeRequest? = nil) {
        self.token = token
        self.device = device
        self.push = push
        self.resume = resume
    }
}

public struct DeviceDescription: Equatable, Sendable {
    public var id: DeviceID
    public var platform: Platform
    public var app: String?
    public var name: String?

    public init(id: DeviceID, platform: Platform, app: String? = nil, name: String? = nil) {
        self.id = id
        self.platform = platform
        self.app = app
        self.name = name
    }
}

public struct ResumeRequest: Equatable, Sendable {
    public var session: SessionID
    @Secret public var token: String
    public var lastSeq: UInt64

    public init(session: SessionID, token: String, lastSeq: UInt64) {
        self.session = session
        self.token = token
        self.lastSeq = lastSeq
    }
}

/// `push.report`: the result of a push on the device.
public struct PushReport: Equatable, Sendable {
    public var push: PushID
    public var call: CallID
    public var result: ReportResult
    /// The system's error if `result` is `failed` or `filtered`.
    public var error: String?

    public init(push: PushID, call: CallID, result: ReportResult, error: String? = nil) {
        self.push = push
        self.call = call
        self.result = result
        self.error = error
    }
}

/// The target of a call.
public enum CallTarget: Hashable, Sendable {
    case user(Handle)
    case users([Handle])
    case group(String)

    // Swift compares strings by canonical equivalence; a group's name is compared byte for byte, as a handle is.
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.user(let a), .user(let b)): a == b
        case (.users(let a), .users(let b)): a == b
        case (.group(let a), .group(let b)): a.utf8.elementsEqual(b.utf8)
        case (.user, _), (.users, _), (.group, _): false
        }
    }
}

/// `call.invite`.
public struct Invite: Equatable, Sendable {
    public var call: CallID
    public var to: CallTarget
    /// How long the call may ring, at each target it is forwarded to; nil for the server's default.
    public var ringTime: Duration? {
        get { compactRingTime.duration }
        set { compactRingTime = CompactDuration(newValue) }
    }
    /// How long the call may last from the time media flows, if shorter than the server's limit; nil for that limit.
    public var maxDuration: Duration? {
        get { compactMaxDuration.duration }
        set { compactMaxDuration = CompactDuration(newValue) }
    }
    public var video: Bool
    public var sdp: RawJSON?
    public var custom: RawJSON?

    private var compactRingTime: CompactDuration
    private var compactMaxDuration: CompactDuration

    public init(
        call: CallID, to: CallTarget, ringTime: Duration? = nil, maxDuration: Duration? = nil, video: Bool = false,
        sdp: RawJSON? = nil, custom: RawJSON? = nil
    ) {
        self.call = call
        self.to = to
        compactRingTime = CompactDuration(ringTime)
        compactMaxDuration = CompactDuration(maxDuration)
        self.video = video
        self.sdp = sdp
        self.custom = custom
    }
}

/// An invite by a backend, from a handle that need not be a user's.
public struct BackendInvite: Equatable, Sendable {
    public var invite: Invite
    public var from: Handle
    /// The caller's display name.
    public var name: String?

    public init(invite: Invite, from: Handle, name: String? = nil) {
        self.invite = invite
        self.from = from
        self.name = name
    }
}

/// `call.candidates`, in both directions.
public struct CallCandidates: Equatable, Sendable {
    public var call: CallID
    /// The elements of the `candidates` array, byte for byte.
    public var candidates: CandidateList
    /// No more candidates will follow.
    public var isFinal: Bool

    public init(call: CallID, candidates: CandidateList, isFinal: Bool = false) {
        self.call = call
        self.candidates = candidates
        self.isFinal = isFinal
    }

    public init(call: CallID, candidates: [RawJSON], isFinal: Bool = false) {
        self.init(call: call, candidates: CandidateList(candidates), isFinal: isFinal)
    }
}

/// `call.update`, in both directions.
public struct CallUpdate: Equatable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        case offer, answer, hold, resume, mute, info
    }

    public var call: CallID
    public var kind: Kind
    public var sdp: RawJSON?
    public var custom: RawJSON?

    public init(call: CallID, kind: Kind, sdp: RawJSON? = nil, custom: RawJSON? = nil) {
        self.call = call
        self.kind = kind
        self.sdp = sdp
        self.custom = custom
    }
}
