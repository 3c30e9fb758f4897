/// How long a store keeps ended records. Ages count from the end of a call, the intent of a push, and the time of a
/// missed call; nil keeps them for ever.
///
/// Records that a server may still need are never deleted, whatever the ages: live calls, open pushes and their calls,
/// and everything that ended less than ``shortestAge`` ago.
public struct RetentionPolicy: Equatable, Sendable {
    /// The minimum of all ages. A server holds ended calls in memory for minutes, and pushes about missed calls for two
    /// hours at most; the remaining time allows for clock changes.
    public static let shortestAge = Duration.seconds(24 * 3600)

    /// The most missed calls kept for one user, the newest: as many as the server shows.
    public var missedPerUser = 100

    /// Ended calls, with their parties, legs, descriptions, absences, candidates and pushes.
    public var calls: Duration?
    /// Pushes of calls that are kept. A push is deleted with its call at the latest.
    public var pushes: Duration?
    /// Missed calls that their users have not cleared. A missed call is deleted with its call at the latest.
    public var missed: Duration?

    /// Events for other systems, delivered or not.
    public var events: Duration

    public static let standardEvents = Duration.seconds(7 * 24 * 3600)

    public init(
        calls: Duration? = .seconds(400 * 24 * 3600), pushes: Duration? = .seconds(400 * 24 * 3600),
        missed: Duration? = .seconds(30 * 24 * 3600), events: Duration = Self.standardEvents
    ) {
        self.calls = calls
        self.pushes = pushes
        self.missed = missed
        self.events = events
    }

    /// Keeps everything, except missed calls beyond ``missedPerUser``, and events.
    public static let keepAll = RetentionPolicy(calls: nil, pushes: nil, missed: nil)
}
