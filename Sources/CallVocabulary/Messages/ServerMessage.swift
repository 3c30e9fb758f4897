/// A server message.
///
/// Large, rare payloads are indirect, here and in the types it contains: a message is copied several times.
public enum ServerMessage: Equatable, Sendable {
    /// The first frame of each connection.
    indirect case welcome(Welcome)
    case reply(RequestID, Reply)
    /// `id` is nil when the request's id could not be read.
    case error(RequestID?, SignalError)
    /// `seq` counts a session's events from 1.
    case event(seq: UInt64, ServerEvent)
}

/// `welcome`.
public struct Welcome: Equatable, Sendable {
    public var protocolVersion: Int
    public var server: String
    public var version: String
    public var node: String
    public var time: Instant
    public var pingInterval: Duration
    public var maxFrameBytes: Int
    public var features: [String]

    public init(
        protocolVersion: Int, server: String, version: String, node: String, time: Instant, pingInterval: Duration,
        maxFrameBytes: Int, features: [String]
    ) {
        self.protocolVersion = protocolVersion
        self.server = server
        self.version = version
        self.node = node
        self.time = time
        self.pingInterval = pingInterval
        self.maxFrameBytes = maxFrameBytes
        self.features = features
    }
}

/// The `result` of a request.
public enum Reply: Equatable, Sendable {
    /// `{}`
    case done
    indirect case opened(SessionOpened)
    case invited(CallID, CallState, expiresAt: Instant)
    /// The call ended at once: no device was reachable.
    case inviteEnded(CallID, EndReason)
    /// The call's state after a command: `{state, reason?}`.
    case callState(CallState, EndReason?)
    /// `{won: true}`
    case won
    indirect case call(CallSnapshot)
    /// The call as its backend sees it.
    indirect case backendCall(BackendCall)
    /// `next` is nil on the last page.
    case calls([CallSnapshot], next: HistoryCursor?)
}

/// A call as seen by the backend that placed it, or that may act for its caller.
public struct BackendCall: Equatable, Sendable {
    /// As the caller's.
    public var snapshot: CallSnapshot
    /// Differs as soon as anything differs that the backend is told of.
    public var version: UInt64
    /// All candidates of the callee who answered, until the call ends, and whether they are all there are.
    public var candidates: [RawJSON]
    public var candidatesAreFinal: Bool

    public init(snapshot: CallSnapshot, version: UInt64, candidates: [RawJSON] = [], candidatesAreFinal: Bool = false) {
        self.snapshot = snapshot
        self.version = version
        self.candidates = candidates
        self.candidatesAreFinal = candidatesAreFinal
    }
}

/// The result of `session.open`.
public struct SessionOpened: Equatable, Sendable {
    public var session: SessionID
    public var user: Handle
    @Secret public var resumeToken: String
    public var resumeWindow: Duration
    public var resumed: Bool
    public var calls: [CallSnapshot]
    public var missed: [MissedCall]
    /// STUN and TURN servers for the media; empty if the server has none.
    public var iceServers: [ICEServer]
    /// The `applicationServerKey` with which a page subscribes to pushes; nil if the server has no Web Push.
    public var webPushKey: String?

    public init(
        session: SessionID, user: Handle, resumeToken: String, resumeWindow: Duration, resumed: Bool,
        calls: [CallSnapshot], missed: [MissedCall], iceServers: [ICEServer] = [], webPushKey: String? = nil
    ) {
        self.session = session
        self.user = user
        self.resumeToken = resumeToken
        self.resumeWindow = resumeWindow
        self.resumed = resumed
        self.calls = calls
        self.missed = missed
        self.iceServers = iceServers
        self.webPushKey = webPushKey
    }
}

/// STUN and TURN servers with credentials for one user: the `RTCIceServer` of WebRTC.
public struct ICEServer: Equatable, Sendable {
    public var urls: [String]
    public var username: String
    @Secret public var credential: String
    /// The servers refuse the credential for new relays from then on.
    public var expiresAt: Instant

    public init(urls: [String], username: String, credential: String, expiresAt: Instant) {
        self.urls = urls
        self.username = username
        self.credential = credential
        self.expiresAt = expiresAt
    }
}

public struct MissedCall: Equatable, Sendable {
    public var call: CallID
    public var from: Handle
    public var fromName: String?
    public var at: Instant
    public var reason: EndReason
    public var video: Bool

    public init(call: CallID, from: Handle, fromName: String? = nil, at: Instant, reason: EndReason, video: Bool) {
        self.call = call
        self.from = from
        self.fromName = fromName
        self.at = at
        self.reason = reason
        self.video = video
    }
}

/// A user with a device: the author of an act.
public struct Party: Hashable, Sendable {
    public var user: Handle
    public var device: DeviceID?

    public init(user: Handle, device: DeviceID? = nil) {
        self.user = user
        self.device = device
    }
}

/// A call as seen by one of its parties.
public struct CallSnapshot: Equatable, Sendable {
    public var call: CallID
    public var role: CallRole
    public var state: CallState
    public var from: Handle
    public var fromName: String?
    public var to: CallTarget
    /// The length of a list of which `to` has the first handles only.
    public var toCount: Int?
    public var video: Bool
    public var createdAt: Instant
    /// The ring deadline, after the answer the connect deadline; nil when neither is pending.
    public var expiresAt: Instant?
    public var answeredAt: Instant?
    public var connectedAt: Instant?
    public var endedAt: Instant?
    /// For ``EndReason/connectionLost``: when the connection or the session was lost, which ends the talk time.
    public var lostAt: Instant?
    public var reason: EndReason?
    public var by: Party?
    /// Whether this device ended the call, or its own leg: then no `CXCallEndedReason` is reported to CallKit.
    public var isOwnAct = false
    /// The other side's session description, until media flows: the offer for the callee, the answer for the caller.
    public var sdp: RawJSON?
    /// The invite's custom data, until the call ends.
    public var custom: RawJSON?
    public var push: PushID?
    /// Since when the other side of an answered call has had no connection.
    public var peerAwaySince: Instant?
    public var mergedInto: CallID?

    public init(
        call: CallID, role: CallRole, state: CallState, from: Handle, fromName: String? = nil, to: CallTarget,
        video: Bool, createdAt: Instant
    ) {
        self.call = call
        self.role = role
        self.state = state
        self.from = from
        self.fromName = fromName
        self.to = to
        self.video = video
        self.createdAt = createdAt
    }
}

/// Numbered events from server to client.
public enum ServerEvent: Equatable, Sendable {
    indirect case incoming(IncomingCall)
    case state(CallStateChange)
    case ended(CallEnded)
    case candidates(CallCandidates)
    case update(CallUpdate)
    case peer(PeerChange)
    case draining(deadline: Duration)
}

/// `call.incoming`. `remaining_ms` is computed when it is encoded.
public struct IncomingCall: Equatable, Sendable {
    public var call: CallID
    public var from: Handle
    public var fromName: String?
    public var to: CallTarget
    public var video: Bool
    public var sdp: RawJSON?
    public var candidates: [RawJSON]
    public var custom: RawJSON?
    public var expiresAt: Instant
    /// Allocated with the leg, so that the device can report the push even if it was told over a socket.
    public var push: PushID?

    public init(
        call: CallID, from: Handle, fromName: String?, to: CallTarget, video: Bool, sdp: RawJSON?,
        candidates: [RawJSON], custom: RawJSON?, expiresAt: Instant, push: PushID?
    ) {
        self.call = call
        self.from = from
        self.fromName = fromName
        self.to = to
        self.video = video
        self.sdp = sdp
        self.candidates = candidates
        self.custom = custom
        self.expiresAt = expiresAt
        self.push = push
    }
}

/// `call.state`.
public struct CallStateChange: Equatable, Sendable {
    public var call: CallID
    public var state: CallState
    public var at: Instant
    public var by: Party?
    public var sdp: RawJSON?
    /// How many of the callee's devices are being woken; `ringing` is how many ring.
    public var waking: Int
    public var ringing: Int
    public var expiresAt: Instant?
    /// In an answered call: whether this side gives way when both sides offer at once. The callee does.
    public var isPolite: Bool?

    public init(
        call: CallID, state: CallState, at: Instant, by: Party? = nil, sdp: RawJSON? = nil, waking: Int, ringing: Int,
        expiresAt: Instant? = nil, isPolite: Bool? = nil
    ) {
        self.call = call
        self.state = state
        self.at = at
        self.by = by
        self.sdp = sdp
        self.waking = waking
        self.ringing = ringing
        self.expiresAt = expiresAt
        self.isPolite = isPolite
    }
}

/// `call.peer`: the other side of an answered call has lost its connection, or has regained it.
public struct PeerChange: Equatable, Sendable {
    public enum Presence: Equatable, Sendable {
        /// The call ends as `connection_lost` unless the party returns by `until`. The server always sends `until`.
        case away(until: Instant?)
        case back
    }

    public var call: CallID
    public var presence: Presence
    public var at: Instant
    /// The other side.
    public var by: Party

    public init(call: CallID, presence: Presence, at: Instant, by: Party) {
        self.call = call
        self.presence = presence
        self.at = at
        self.by = by
    }
}

/// `call.ended`: the only end event, once per session.
public struct CallEnded: Equatable, Sendable {
    public var call: CallID
    public var reason: EndReason
    public var by: Party?
    public var at: Instant
    /// Whether this device ended the call: then no `CXCallEndedReason` is reported to CallKit.
    public var isOwnAct: Bool
    public var mergedInto: CallID?

    public init(
        call: CallID, reason: EndReason, by: Party?, at: Instant, isOwnAct: Bool, mergedInto: CallID? = nil
    ) {
        self.call = call
        self.reason = reason
        self.by = by
        self.at = at
        self.isOwnAct = isOwnAct
        self.mergedInto = mergedInto
    }
}
