/// How long a store keeps what is over, counted from the end of a call, the intent of a push, and the time of a missed
/// call; nil keeps it for ever.
///
/// Nothing that a server may still need is ever deleted, whatever the ages: live calls, pushes that are open and their
/// calls, and what ended less than ``shortestAge`` ago.
public struct RetentionPolicy: Equatable, Sendable {
    /// Ages below this count as this. A server holds ended calls in memory for minutes, pushes about missed calls for
    /// two hours at most; the rest allows for clocks that were set.
    public static let shortestAge = Duration.seconds(24 * 3600)

    /// Missed calls of one user that are kept at most, the newest: as many as the server shows.
    public var missedPerUser = 100

    /// Ended calls, with their parties, legs, descriptions, absences, candidates and pushes.
    public var calls: Duration?
    /// Pushes of calls that are kept. None outlives its call.
    public var pushes: Duration?
    /// Missed calls that their users have not cleared. None outlives its call.
    public var missed: Duration?

    public init(
        calls: Duration? = .seconds(400 * 24 * 3600), pushes: Duration? = .seconds(400 * 24 * 3600),
        missed: Duration? = .seconds(30 * 24 * 3600)
    ) {
        self.calls = calls
        self.pushes = pushes
        self.missed = missed
    }

    /// Keeps everything, but for missed calls that no server shows any more.
    public static let keepAll = RetentionPolicy(calls: nil, pushes: nil, missed: nil)
}
