import CallVocabulary
import Logging
import PushVocabulary

/// Sends one push through its own ``PushService``, and waits for the outcome.
public struct PushProbe: Sendable {
    /// The outcome of the push, and its timing.
    public struct Result: Sendable {
        public let outcome: PushOutcome
        /// The number of transmissions; more than one when the provider requested a retry.
        public let attempts: Int
        /// From the intent to the last transmission: lookup, connection, TLS, provider token.
        public let untilSent: Duration?
        /// From the intent to the outcome.
        public let untilOutcome: Duration
    }

    private let configuration: PushService.Configuration
    private let now: @Sendable () -> Instant
    private let log: Logger

    public init(
        configuration: PushService.Configuration, now: @escaping @Sendable () -> Instant, log: Logger
    ) {
        self.configuration = configuration
        self.now = now
        self.log = log
    }

    /// Returns the final outcome, at the latest at the intent's expiration plus the time limit of a request.
    /// - Parameter wakeToken: the wake token in the push.
    /// - Throws: ``PushConfigurationError``, `SystemError` without descriptors, and `CancellationError`.
    public func send(_ intent: PushIntent, wakeToken: String) async throws -> Result {
        let (events, feed) = AsyncStream.makeStream(of: PushEvent.self)
        let service = PushService(
            configuration: configuration, now: now, mintWakeToken: { _ in wakeToken }, log: log,
            onEvent: { for event in $0 { feed.yield(event) } })
        try service.start()
        let clock = ContinuousClock()
        let start = clock.now
        var attempts = 0
        var sent: Duration?
        var result: Result?
        service.queue(intent)
        for await event in events {
            switch event {
            case .ready(let push):
                attempts += 1
                sent = clock.now - start
                service.transmit(push)
            case .outcome(_, .returned): break
            case .outcome(_, let outcome):
                result = Result(
                    outcome: outcome, attempts: attempts, untilSent: sent, untilOutcome: clock.now - start)
            }
            if result != nil { break }
        }
        await service.stop()
        // Every push has an outcome, so a missing one means cancellation.
        guard let result else { throw CancellationError() }
        return result
    }
}
