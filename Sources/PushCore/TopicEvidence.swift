import CallVocabulary

/// A topic whose pushes are refused one after the other: the configuration is at fault, not the tokens.
public struct SuspectTopic: Equatable, Sendable {
    /// The APNs topic, or the Firebase project.
    public let topic: String
    /// The provider's, of the last refusal.
    public let reason: String
    /// Pushes refused since the last one that was accepted.
    public let refusals: Int

    public init(topic: String, reason: String, refusals: Int) {
        self.topic = topic
        self.reason = reason
        self.refusals = refusals
    }

    /// What is wrong and what to look at, to be read after the provider's name.
    public var problem: String {
        "has refused the last \(refusals) pushes to \(topic) (\(reason)): the configuration is wrong rather than the tokens, "
            + "which are kept; check host, environment, and the app that the credential is for"
    }
}

/// Tells tokens that are wrong from a configuration that is wrong, by what the provider said of others of their topic
/// since the credential was loaded.
///
/// A host of the other environment, a key of another team and another project's account refuse every token with the same
/// words as one token that is wrong. A token that is kept costs a push in vain for each call; one that is forgotten by
/// mistake makes a phone unreachable until its user opens the app.
struct TopicEvidence: Sendable {
    /// Refusals in a row, of tokens none of which need be wrong, after which the topic is suspect.
    static let refusalsUntilSuspect = 3
    /// Topics told apart at most: devices register them. Nothing is known of those beyond, and their tokens are kept.
    static let mostTopics = 256
    /// Accepted tokens remembered at least; at most twice as many.
    static let acceptedTokens = 50_000

    /// Users whose pushes were refused in a row, whatever their topics, after which the provider refuses all: few while
    /// nothing was ever accepted, many once something was. Devices name their topics and tokens themselves, so that what
    /// one user registers says nothing of the others.
    static let usersUntilAllRefused = (unproven: 3, proven: 20)

    private struct Topic: Sendable {
        /// Whether a push was accepted.
        var isProven = false
        /// Since the last push that was accepted.
        var refusals = 0
        /// Different ones that were refused since; no more than it takes to be suspect.
        var refused: [PushToken?] = []
    }

    private var topics: [String: Topic] = [:]
    /// The hashes of tokens that were accepted, and of those before them.
    private var accepted: Set<Int> = []
    private var acceptedBefore: Set<Int> = []
    private var suspectsByTopic: [String: SuspectTopic] = [:]
    private var hasAccepted = false
    /// Hashes of the users whose pushes were refused since the last one that was accepted; no more than it takes.
    private var refusedUsers: Set<Int> = []
    private var lastRefusal: Instant?

    /// When the last push was refused, where all are; nil where one was accepted since, or they were few users'.
    var allRefusedAt: Instant? {
        let limit = hasAccepted ? Self.usersUntilAllRefused.proven : Self.usersUntilAllRefused.unproven
        return refusedUsers.count >= limit ? lastRefusal : nil
    }

    /// In the order of their names.
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
        guard topics[name] != nil || topics.count < Self.mostTopics else { return }
        topics[name] = Topic(isProven: true)
        suspectsByTopic[name] = nil
    }

    /// The provider refused the token, its topic or the request, by an answer that may be the configuration's fault.
    /// - Returns: whether the token is at fault, and is not to be used again.
    mutating func refused(_ token: PushToken?, of user: Handle?, _ answer: PushAnswer, now: Instant) -> Bool {
        lastRefusal = now
        if let user, refusedUsers.count < Self.usersUntilAllRefused.proven { refusedUsers.insert(user.hashValue) }
        let name = token?.topic ?? ""
        guard var topic = topics[name] ?? (topics.count < Self.mostTopics ? Topic() : nil) else { return false }
        let others = topic.refused.count { $0 != token || token == nil }
        topic.refusals += 1
        if topic.refused.count < Self.refusalsUntilSuspect, others == topic.refused.count {
            topic.refused.append(token)
        }
        topics[name] = topic
        // One phone that is called again and again says nothing of the others.
        if topic.refusals >= Self.refusalsUntilSuspect,
            !topic.isProven || topic.refused.count >= Self.refusalsUntilSuspect
        {
            suspectsByTopic[name] = SuspectTopic(topic: name, reason: answer.reason, refusals: topic.refusals)
        }
        guard topic.isProven else { return false }
        switch answer.verdict {
        // It was never right; where it was taken before, something else has changed. One of a kind: the first since
        // another was accepted.
        case .tokenMismatched: return others == 0 && !wasAccepted(token)
        // How FCM says that an app was removed, which happens to one after the other.
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
