import AdminProtocol
import CallVocabulary
import OutgoingHTTP

extension WebhookView {
    /// The endpoint and its deliveries at this moment.
    init(_ sender: EndpointSender) {
        let state: State =
            sender.disabled != nil
            ? .disabled : sender.isPaused ? .paused : sender.queue.isProbing ? .failing : .active
        self.init(
            name: sender.endpoint.name, url: sender.endpoint.address.description,
            events: EventKind.allCases.filter(sender.endpoint.kinds.contains), state: state, backlog: sender.backlog)
        oldestAt = Timestamp(sender.queue.oldest)
        taken = sender.figures.taken
        failedAttempts = sender.figures.failed
        givenUp = sender.figures.givenUp
        lastTakenAt = Timestamp(sender.figures.lastTaken)
        lastFailure = sender.disabled ?? sender.figures.lastFailure?.reason
        lastFailureAt = Timestamp(sender.figures.lastFailure?.at)
    }
}
