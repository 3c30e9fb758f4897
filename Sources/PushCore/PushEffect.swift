import CallVocabulary
import PushVocabulary

/// Names one connection of one pool; never used again for another.
public struct PushConnectionID: Hashable, Sendable {
    public let serial: UInt64

    public init(serial: UInt64) {
        self.serial = serial
    }
}

/// What a pool's machine has to know of a push. A reference, as it is passed on more often than read.
public final class PushTerms: Sendable {
    /// It is sent before that, or not at all.
    public let expiresAt: Instant
    /// When the device registered its token.
    public let tokenRegisteredAt: Instant?
    /// Where it goes: one device that gets too much is slowed down alone.
    public let token: PushToken?
    /// Whose device that is.
    public let user: Handle?
    /// Somebody's phone is to ring: goes before what can wait.
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

/// What has happened, as a pool's machine is told.
public enum PushInput: Sendable {
    case queued(PushID, PushTerms)
    /// The call core looked once more after `ready`, and has committed the push as sent.
    case cleared(PushID)
    /// The call core needs the push no longer. Counts until the push is cleared.
    case dropped(PushID)

    /// The connection stands and the peer's SETTINGS are there.
    case opened(PushConnectionID, streamLimit: Int)
    case streamLimitChanged(PushConnectionID, Int)
    case goneAway(PushConnectionID, lastStream: Int32, reason: String)
    case pingAnswered(PushConnectionID)
    /// It could not be opened, or is over.
    case closed(PushConnectionID, reason: String)

    /// A `submit` was carried out: the request is on its way as `stream`.
    case submitted(PushConnectionID, PushID, stream: Int32)
    /// A `submit` could not be carried out: the connection takes no more requests. Nothing was sent.
    case notSubmitted(PushConnectionID, PushID)
    case answered(PushConnectionID, stream: Int32, PushAnswer)
    /// The answer's status is there and the end of its body is not: what it means, should nothing more come in time.
    case statusRead(PushConnectionID, stream: Int32, PushAnswer)
    /// REFUSED_STREAM: certainly not processed.
    case streamRefused(PushConnectionID, stream: Int32)
    /// The stream ended in another way without an answer.
    case streamLost(PushConnectionID, stream: Int32, reason: String)

    /// `expiresAt` is the provider's word, where it gave the token (OAuth); nil for one that was signed here.
    case providerTokenSigned(generation: Int, expiresAt: Instant? = nil)
    case providerTokenFailed(generation: Int, reason: String)

    /// The system clock was set: what was signed by it before may be misdated.
    case clockSet

    /// Another credential takes the place of the pool's: what waits goes out with it, over new connections, and what is on
    /// the wire is awaited on the old ones.
    case credentialReplaced(PushPolicy.Credential)
    /// There is no credential for this push any more: it ends, unless it is on the wire.
    case credentialGone(PushID, reason: String)
}

/// What is to be done, in order.
public enum PushEffect: Equatable, Sendable {
    /// Look the host up anew and connect; `opened` or `closed` follows.
    case open(PushConnectionID)
    /// Close it; nothing that is heard of it later counts.
    case close(PushConnectionID)
    case ping(PushConnectionID)
    /// `providerTokenSigned` or `providerTokenFailed` follows.
    case signProviderToken(generation: Int, issuedAt: Instant)
    /// A stream is reserved: the call core is to look once more and answer with `cleared` or `dropped`.
    case ready(PushID)
    /// Send it now; `submitted` or `notSubmitted` follows before any other input.
    case submit(PushConnectionID, PushID, tokenGeneration: Int)
    /// Give the stream up (RST_STREAM with CANCEL): nobody waits for it.
    case cancel(PushConnectionID, stream: Int32)
    /// A push's outcome. All are final but `returned`, after which it is queued again.
    case outcome(PushID, PushOutcome)
    case alarm(PushAlarm)
}

/// What somebody in charge should know of.
public enum PushAlarm: Equatable, Sendable {
    /// A provider token just signed is called expired: this machine's clock is wrong.
    case clockSkew
    /// The credential itself is refused; the reason is APNs's.
    case credentialRefused(reason: String)
    /// A token is of the other environment or of another app, or the topic is not ours to push to.
    case addressRefused(PushID, reason: String)
    /// A provider token could not be signed, or an access token not be fetched.
    case signingFailed(reason: String)
    /// A connection could not be opened or was lost before it was of any use.
    case connectionFailed(reason: String)
    /// The provider takes nothing of the whole account for a while: it is too much.
    case providerThrottled(reason: String)
    /// One push after the other is refused for its token or topic, so the configuration is wrong.
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
