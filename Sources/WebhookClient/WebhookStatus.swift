import CallVocabulary
import OutgoingHTTP

/// An endpoint and its deliveries at one moment.
public struct WebhookStatus: Equatable, Sendable {
    public enum State: String, Sendable, CaseIterable {
        /// Events are sent.
        case active
        /// The last attempts failed; one event is sent at a time.
        case failing
        /// An administrator paused the endpoint.
        case paused
        /// The receiver answered 410.
        case disabled
    }

    public var name: String
    public var url: String
    public var kinds: Set<EventKind>
    public var state: State
    /// Events without a result. Events that were not read yet count, whatever their kind.
    public var backlog: Int
    /// The time at which the oldest event without a result was recorded. Only events that were read count.
    public var oldest: Instant?
    /// Events accepted since the start of the server.
    public var taken: UInt64
    /// Attempts that failed, since the start of the server.
    public var failed: UInt64
    /// Events given up after the last attempt, also before the start of the server.
    public var givenUp: UInt64
    public var lastTaken: Instant?
    public var lastFailure: String?
    public var lastFailureAt: Instant?

    init(_ sender: EndpointSender) {
        name = sender.endpoint.name
        url = sender.endpoint.address.description
        kinds = sender.endpoint.kinds
        state =
            sender.disabled != nil
            ? .disabled : sender.isPaused ? .paused : sender.queue.isProbing ? .failing : .active
        backlog = sender.backlog
        oldest = sender.queue.oldest
        taken = sender.figures.taken
        failed = sender.figures.failed
        givenUp = sender.figures.givenUp
        lastTaken = sender.figures.lastTaken
        lastFailure = sender.disabled ?? sender.figures.lastFailure?.reason
        lastFailureAt = sender.figures.lastFailure?.at
    }
}
