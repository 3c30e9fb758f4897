import CallVocabulary

/// A topic whose recent pushes were all refused: the configuration is at fault, not the tokens.
public struct SuspectTopic: Equatable, Sendable {
    /// The APNs topic, or the Firebase project.
    public let topic: String
    /// The provider's reason for the last refusal.
    public let reason: String
    /// Pushes refused since the last acceptance.
    public let refusals: Int

    public init(topic: String, reason: String, refusals: Int) {
        self.topic = topic
        self.reason = reason
        self.refusals = refusals
    }

    /// The problem and advice as text, to follow the provider's name.
    /// - Parameter hasEnvironments: whether the provider has a host for each environment, as APNs.
    public func problem(hasEnvironments: Bool) -> String {
        let advice =
            hasEnvironments
            ? "check host, environment, and the app that the credential is for"
            : "check that the credential is of the app's project, and that this project can send to the app"
        return "has refused the last \(refusals) pushes to \(topic) (\(reason.clause)): the configuration is wrong "
            + "rather than the tokens, which are kept; \(advice)"
    }
}

/// Distinguishes invalid tokens from an invalid configuration, by the answers to other pushes of the topic since the
/// credential was loaded.
///
/// A host of the other environment, another team's key or another project's account refuses every token, with the same
/// reason as one invalid token. An invalid token that is kept costs one useless push for each call. A valid one that is
/// dropped makes a phone unreachable until its user opens the app.
struct TopicEvidence: Sendable {
    /// Consecutive refusals after which the topic is suspect.
    static let refusalsUntilSuspect = 3
    /// The most topics tracked, because devices register them. The tokens of further topics are kept. A topic that has
    /// accepted a push takes the place of one that never did, which a device may have made up.
    static let mostTopics = 256
    /// The least number of accepted tokens remembered; the most is twice as many.
    static let acceptedTokens = 50_000

    /// How many users' pushes must be refused in a row, over all topics, before the provider counts as refusing all:
    /// few before any acceptance, many after one. Devices choose their topics and tokens, so one user's registrations
    /// say nothing about other users, and after an acceptance those of new users say nothing at all.
    static let usersUntilAllRefused = (unproven: 3, proven: 20)

    private struct Topic: Sendable {
        /// Whether any push was accepted.
        var isProven = false
        /// Refusals since the last acceptance.
        var refusals = 0
        /// Distinct tokens refused since then; at most ``refusalsUntilSuspect``.
        var refused: [PushToken?] = []
    }

    private var topics: [String: Topic] = [:]
    /// Hashes of accepted tokens: the current generation, and the one before.
    private var accepted: Set<Int> = []
    private var acceptedBefore: Set<Int> = []
    private var suspectsByTopic: [String: SuspectTopic] = [:]
    private var hasAccepted = false
    /// Hashes of the users refused since the last acceptance; no more than the limit.
    private var refusedUsers: Set<Int> = []
    private var lastRefusal: Instant?

    /// When the last push that counts was refused, while all are; nil after an acceptance, or with too few users.
    var allRefusedAt: Instant? {
        let limit = hasAccepted ? Self.usersUntilAllRefused.proven : Self.usersUntilAllRefused.unproven
        return refusedUsers.count >= limit ? lastRefusal : nil
    }

    /// Sorted by topic.
    var suspects: [SuspectTopic] {
        suspectsByTopic.isEmpty ? [] : suspectsByTopic.values.sorted { $0.topic < $1.topic }
    }

    func suspect(_ token: PushToken?) -> SuspectTopic? { suspectsByTopic[token?.topic ?? ""] }

    mutating func accepted(_ token: PushToken?) {
        let name = token?.topic ?? ""
        hasAccepted = true
        if !refusedUsers.isEmpty { refusedUsers = [] }
        if let token { remember(token) }
        if let topic = topics[name], topic.isProven, topic.refusals == 0 { return }
        guard topics[name] != nil || hasRoom() else { return }
        topics[name] = Topic(isProven: true)
        suspectsByTopic[name] = nil
    }

    private mutating func hasRoom() -> Bool {
        guard topics.count >= Self.mostTopics else { return true }
        // The least name: the order of a dictionary differs in each process.
        guard let madeUp = topics.filter({ !$0.value.isProven }).keys.min() else { return false }
        topics[madeUp] = nil
        suspectsByTopic[madeUp] = nil
        return true
    }

    /// Records a refusal for token, topic or request that the configuration may have caused.
    /// - Returns: whether the token is at fault and must not be used again.
    mutating func refused(_ token: PushToken?, of user: Handle?, _ answer: PushAnswer, now: Instant) -> Bool {
        // Anybody can register any number of new users.
        if !hasAccepted || wasAccepted(token) {
            lastRefusal = now
            if let user, refusedUsers.count < Self.usersUntilAllRefused.proven { refusedUsers.insert(user.hashValue) }
        }
        let name = token?.topic ?? ""
        guard var topic = topics[name] ?? (topics.count < Self.mostTopics ? Topic() : nil) else { return false }
        let others = topic.refused.count { $0 != token || token == nil }
        topic.refusals += 1
        if topic.refused.count < Self.refusalsUntilSuspect, others == topic.refused.count {
            topic.refused.append(token)
        }
        topics[name] = topic
        // Repeated pushes to one phone are no evidence about the others.
        if topic.refusals >= Self.refusalsUntilSuspect,
            !topic.isProven || topic.refused.count >= Self.refusalsUntilSuspect
        {
            suspectsByTopic[name] = SuspectTopic(topic: name, reason: answer.reason, refusals: topic.refusals)
        }
        guard topic.isProven else { return false }
        switch answer.verdict {
        // The token was never valid: the first one refused since another was accepted. A token accepted before is kept,
        // because something else has changed.
        case .tokenMismatched: return others == 0 && !wasAccepted(token)
        // FCM's answer for an uninstalled app, which happens to several devices in a row.
        case .tokenUnknown: return others < Self.refusalsUntilSuspect - 1
        case .accepted, .tokenGone, .credentialRefused, .topicRefused, .relayRefused, .providerTokenStale,
            .providerTokenTooNew, .deviceThrottled, .providerThrottled, .throttled, .requestFaulty, .retryable,
            .serverLeaving:
            return false
        }
    }

    private func wasAccepted(_ token: PushToken?) -> Bool {
        guard let token else { return false }
        let hash = token.token.hashValue
        return accepted.contains(hash) || acceptedBefore.contains(hash)
    }

    private mutating func remember(_ token: PushToken) {
        guard accepted.insert(token.token.hashValue).inserted, accepted.count >= Self.acceptedTokens else { return }
        acceptedBefore = accepted
        accepted = []
    }
}
