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

    /// What is wrong, to be read after the provider's name; nil while nothing is.
    public var problem: String? {
        guard failures >= Self.failuresUntilBad, let cause else { return nil }
        return switch cause {
        case .refused(let reason):
            "has refused the credential \(failures) times in a row (\(reason)): check key id, team id and key"
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
        case .addressRefused, .connectionFailed: break
        }
    }

    public mutating func note(_ outcome: PushOutcome) {
        switch outcome {
        case .accepted: self = CredentialHealth()
        case .rejected(let reason, _):
            // A push refused for its own sake was looked at: the credential got it that far.
            if let reason = APNSReason(rawValue: reason), reason.verdict.provesCredential { self = CredentialHealth() }
        case .unknown, .returned, .unsent: break
        }
    }

    private mutating func fail(_ cause: Cause) {
        failures += 1
        self.cause = cause
    }
}

extension PushVerdict {
    fileprivate var provesCredential: Bool {
        switch self {
        case .accepted, .tokenGone, .tokenMismatched, .deviceThrottled: true
        // The topic may be refused because the key is another team's, and a faulty request before the key is looked at.
        case .topicRefused, .requestFaulty, .credentialRefused, .providerTokenStale, .retryable, .serverLeaving: false
        }
    }
}
