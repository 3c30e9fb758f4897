import CallVocabulary
import PushVocabulary

/// Identifies one connection of a pool; ids are not reused.
public struct PushConnectionID: Hashable, Sendable {
    public let serial: UInt64

    public init(serial: UInt64) {
        self.serial = serial
    }
}

/// The data of a push that a pool's machine needs. A class, because it is passed on more often than read.
public final class PushTerms: Sendable {
    /// The push is not sent after this time.
    public let expiresAt: Instant
    /// When the device registered its token.
    public let tokenRegisteredAt: Instant?
    /// The device's token; a device that gets too many pushes is throttled by it.
    public let token: PushToken?
    /// The user of the device.
    public let user: Handle?
    /// The push rings a phone, and has priority over pushes that can wait.
    public let isUrgent: Bool

    public init(
        expiresAt: Instant, tokenRegisteredAt: Instant? = nil, token: PushToken? = nil, user: Handle? = nil,
        isUrgent: Bool = true
    ) {
        self.expiresAt = expiresAt
        self.tokenRegisteredAt = tokenRegisteredAt
        self.token = token
        self.user = user
        self.isUrgent = isUrgent
    }
}

/// The events that a pool's machine handles.
public enum PushInput: Sendable {
    case queued(PushID, PushTerms)
    /// The call core checked the push after `ready`, and has committed it as sent.
    case cleared(PushID)
    /// As ``cleared(_:)``, but the push may not leave at present: it returns, and is announced again.
    case postponed(PushID)
    /// The call core no longer needs the push. Ignored after `cleared`.
    case dropped(PushID)

    /// The connection is established and the peer's SETTINGS have arrived.
    case opened(PushConnectionID, streamLimit: Int)
    case streamLimitChanged(PushConnectionID, Int)
    case goneAway(PushConnectionID, lastStream: Int32, reason: String)
    case pingAnswered(PushConnectionID)
    /// The connection failed to open, or has ended.
    case closed(PushConnectionID, reason: String)

    /// A `submit` was performed: the request is being sent as `stream`.
    case submitted(PushConnectionID, PushID, stream: Int32)
    /// A `submit` failed, because the connection takes no more requests. Nothing was sent.
    case notSubmitted(PushConnectionID, PushID)
    case answered(PushConnectionID, stream: Int32, PushAnswer)
    /// The status has arrived, but the body is incomplete. If nothing more arrives in time, this is the answer.
    case statusRead(PushConnectionID, stream: Int32, PushAnswer)
    /// REFUSED_STREAM: certainly not processed.
    case streamRefused(PushConnectionID, stream: Int32)
    /// The stream ended otherwise without an answer.
    case streamLost(PushConnectionID, stream: Int32, reason: String)

    /// `expiresAt` is the provider's value for a fetched token (OAuth); nil for a token signed here.
    case providerTokenSigned(generation: Int, expiresAt: Instant? = nil)
    case providerTokenFailed(generation: Int, reason: String)

    /// The system clock was set: tokens signed before may have a wrong time of issue.
    case clockSet

    /// The pool's credential is replaced. Waiting pushes are sent with the new one over new connections; pushes on the
    /// wire are awaited on the old ones.
    case credentialReplaced(PushPolicy.Credential)
    /// The credential of the push was removed: the push ends, unless it is on the wire.
    case credentialGone(PushID, reason: String)
}

/// The actions that a pool's machine asks for, in order.
public enum PushEffect: Equatable, Sendable {
    /// Resolve the host again and connect; `opened` or `closed` follows.
    case open(PushConnectionID)
    /// Close the connection; later events of it are ignored.
    case close(PushConnectionID)
    case ping(PushConnectionID)
    /// `providerTokenSigned` or `providerTokenFailed` follows.
    case signProviderToken(generation: Int, issuedAt: Instant)
    /// A stream is reserved: ask the call core to check the push again, and answer with `cleared` or `dropped`.
    case ready(PushID)
    /// Send the push now; `submitted` or `notSubmitted` must be the next input.
    case submit(PushConnectionID, PushID, tokenGeneration: Int)
    /// Reset the stream (RST_STREAM with CANCEL): its answer is not awaited any more.
    case cancel(PushConnectionID, stream: Int32)
    /// The outcome of a push. All are final except `returned`, after which the push is queued again.
    case outcome(PushID, PushOutcome)
    case alarm(PushAlarm)
}

/// A condition that an operator should know of.
public enum PushAlarm: Equatable, Sendable {
    /// The provider calls a newly signed token expired: the clock of this machine is wrong.
    case clockSkew
    /// The credential is refused; the reason is the provider's.
    case credentialRefused(reason: String)
    /// The token belongs to the other environment or another app, or the credential may not push to the topic.
    case addressRefused(PushID, reason: String)
    /// A provider token could not be signed, or an access token could not be fetched.
    case signingFailed(reason: String)
    /// A connection could not be opened, or was lost before it answered a push.
    case connectionFailed(reason: String)
    /// The provider throttles the whole account.
    case providerThrottled(reason: String)
    /// All recent pushes to a topic were refused for token or topic, so the configuration is wrong.
    case configurationSuspected(SuspectTopic)

    public enum Kind: Sendable, CaseIterable {
        case clockSkew, credentialRefused, addressRefused, signingFailed, connectionFailed, providerThrottled
        case configurationSuspected
    }

    public var kind: Kind {
        switch self {
        case .clockSkew: .clockSkew
        case .credentialRefused: .credentialRefused
        case .addressRefused: .addressRefused
        case .signingFailed: .signingFailed
        case .connectionFailed: .connectionFailed
        case .providerThrottled: .providerThrottled
        case .configurationSuspected: .configurationSuspected
        }
    }
}
