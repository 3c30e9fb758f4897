import CallVocabulary

/// Whether a provider accepts the credential: consecutive failures and their cause.
public struct CredentialHealth: Equatable, Sendable {
    public enum Cause: Equatable, Sendable {
        /// The key, its id or the team is wrong, or the key was revoked; the reason is the provider's.
        case refused(reason: String)
        /// The provider calls a newly signed token expired.
        case clockSkew
        case signingFailed(reason: String)
    }

    /// A single refusal may be a fault of one of the provider's machines; this many in a row are a fault of the
    /// credential.
    public static let failuresUntilBad = 3

    /// Failures since the provider last accepted the credential.
    public private(set) var failures = 0
    /// The cause of the last failure.
    public private(set) var cause: Cause?

    public init() {}

    /// Whether there were ``failuresUntilBad`` consecutive failures.
    public var isBad: Bool { failures >= Self.failuresUntilBad }

    /// Advice for a refused APNs key.
    public static let keyAdvice = "check key id, team id and key"

    /// The problem as text, to follow the provider's name; nil when there is none.
    public var problem: String? { problem(advice: Self.keyAdvice) }

    /// As ``problem``, with the advice for a refused credential.
    public func problem(advice: String) -> String? {
        guard isBad, let cause else { return nil }
        return switch cause {
        case .refused(let reason):
            "has refused the credential \(failures) times in a row (\(reason.clause)): \(advice)"
        case .clockSkew:
            "has called \(failures) new provider tokens in a row expired: check this machine's clock"
        case .signingFailed(let reason):
            "cannot be sent to: no provider token could be signed \(failures) times in a row (\(reason.clause))"
        }
    }

    public mutating func note(_ alarm: PushAlarm) {
        switch alarm {
        case .credentialRefused(let reason): fail(.refused(reason: reason))
        case .clockSkew: fail(.clockSkew)
        case .signingFailed(let reason): fail(.signingFailed(reason: reason))
        case .addressRefused, .connectionFailed, .providerThrottled, .configurationSuspected: break
        }
    }

    /// Updates the health by the verdict on a push.
    public mutating func note(_ verdict: PushVerdict) {
        if verdict.provesCredential { self = CredentialHealth() }
    }

    /// A token was signed or fetched: clears a signing failure, but no other.
    mutating func tokenWasHad() {
        if case .signingFailed = cause { self = CredentialHealth() }
    }

    private mutating func fail(_ cause: Cause) {
        failures += 1
        self.cause = cause
    }
}

extension PushVerdict {
    /// Whether the provider judged the push itself, and therefore had accepted the credential.
    fileprivate var provesCredential: Bool {
        switch self {
        case .accepted, .tokenGone, .tokenUnknown, .tokenMismatched, .relayRefused, .deviceThrottled,
            .providerThrottled,
            .throttled:
            true
        // Not proven: a topic may be refused because the key is another team's, and a faulty request before the key is
        // checked.
        case .topicRefused, .requestFaulty, .credentialRefused, .providerTokenStale, .providerTokenTooNew, .retryable,
            .serverLeaving:
            false
        }
    }
}
