import CallVocabulary

/// The endpoints that get events.
public struct WebhooksView: Codable, Equatable, Sendable {
    public var endpoints: [WebhookView]

    public init(endpoints: [WebhookView]) { self.endpoints = endpoints }
}

/// An endpoint and its deliveries.
public struct WebhookView: Codable, Equatable, Sendable {
    public enum State: String, Codable, Sendable, CaseIterable {
        case active
        /// The last attempts failed; one is made at a time.
        case failing
        case paused
        /// The receiver answered 410 to events of several users.
        case disabled
    }

    public var name: String
    /// Without path and query, which may have a secret.
    public var url: String
    public var events: [EventKind]
    public var state: State
    /// Events without a result.
    public var backlog: Int
    /// When the oldest event without a result was recorded.
    public var oldestAt: Timestamp?
    /// Events taken since the start of the server.
    public var taken: UInt64
    /// Attempts that failed since the start of the server.
    public var failedAttempts: UInt64
    /// Events given up after the last attempt.
    public var givenUp: UInt64
    public var lastTakenAt: Timestamp?
    /// The last failure, if no event was taken after it.
    public var lastFailure: String?
    public var lastFailureAt: Timestamp?

    public init(name: String, url: String, events: [EventKind], state: State, backlog: Int) {
        self.name = name
        self.url = url
        self.events = events
        self.state = state
        self.backlog = backlog
        (taken, failedAttempts, givenUp) = (0, 0, 0)
    }

    enum CodingKeys: String, CodingKey {
        case name, url, events, state, backlog, taken
        case oldestAt = "oldest_at"
        case failedAttempts = "failed_attempts"
        case givenUp = "given_up"
        case lastTakenAt = "last_taken_at"
        case lastFailure = "last_failure"
        case lastFailureAt = "last_failure_at"
    }
}

/// The receiver's answer to a test message.
public struct WebhookTestView: Codable, Equatable, Sendable {
    /// Whether it would have taken an event.
    public var isTaken: Bool
    /// The HTTP status; nil without an answer.
    public var status: Int?
    /// Why there is no answer.
    public var failure: String?
    public var tookMilliseconds: Int64?

    public init(isTaken: Bool, status: Int? = nil, failure: String? = nil, tookMilliseconds: Int64? = nil) {
        self.isTaken = isTaken
        self.status = status
        self.failure = failure
        self.tookMilliseconds = tookMilliseconds
    }

    enum CodingKeys: String, CodingKey {
        case status, failure
        case isTaken = "is_taken"
        case tookMilliseconds = "took_ms"
    }
}
