import CallVocabulary

/// Whether a provider takes our credential: how often in a row it did not, and why.
public struct CredentialHealth: Equatable, Sendable {
    public enum Cause: Equatable, Sendable {
        /// The key, its id or the team is wrong, or the key was revoked; the reason is the provider's.
        case refused(reason: String)
        /// A token just signed is called expired.
        case clockSkew
        case signingFailed(reason: String)
    }

    /// One refusal may be a slip of one of the provider's machines; so many in a row are our fault.
    public static let failuresUntilBad = 3

    /// Since the provider took it last.
    public private(set) var failures = 0
    /// Of the last failure.
    public private(set) var cause: Cause?

    public init() {}

    /// Whether it was not taken often enough to be sure of it.
    public var isBad: Bool { failures >= Self.failuresUntilBad }

    /// What to look at where the credential is an APNs key.
    public static let keyAdvice = "check key id, team id and key"

    /// What is wrong, to be read after the provider's name; nil while nothing is.
    public var problem: String? { problem(advice: Self.keyAdvice) }

    /// As ``problem``, with what to look at when the credential is refused.
    public func problem(advice: String) -> String? {
        guard isBad, let cause else { return nil }
        return switch cause {
        case .refused(let reason):
            "has refused the credential \(failures) times in a row (\(reason)): \(advice)"
        case .clockSkew:
            "has called \(failures) new provider tokens in a row expired: check this machine's clock"
        case .signingFailed(let reason):
            "cannot be sent to: no provider token could be signed \(failures) times in a row (\(reason))"
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

    /// What an answer says of the credential that it was asked with.
    public mutating func note(_ verdict: PushVerdict) {
        if verdict.provesCredential { self = CredentialHealth() }
    }

    /// A token was signed or fetched: that it could not be is over, whatever else is wrong.
    mutating func tokenWasHad() {
        if case .signingFailed = cause { self = CredentialHealth() }
    }

    private mutating func fail(_ cause: Cause) {
        failures += 1
        self.cause = cause
    }
}

extension PushVerdict {
    /// Whether a push was refused for its own sake: it was looked at, so the credential got it that far.
    fileprivate var provesCredential: Bool {
        switch self {
        case .accepted, .tokenGone, .tokenUnknown, .tokenMismatched, .relayRefused, .deviceThrottled,
            .providerThrottled,
            .throttled:
            true
        // The topic may be refused because the key is another team's, and a faulty request before the key is looked at.
        case .topicRefused, .requestFaulty, .credentialRefused, .providerTokenStale, .providerTokenTooNew, .retryable,
            .serverLeaving:
            false
        }
    }
}
