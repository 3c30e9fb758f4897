/// The numbers one pool works by. Every bound of the machine is named here.
public struct PushPolicy: Equatable, Sendable {
    /// How many connections are open or being opened at most, those that drain aside; 2 at least, because a retry
    /// takes another connection than the first try.
    public var connections = 2
    /// Streams per connection at most, whatever the peer allows.
    public var streamsPerConnection = 500
    /// Pushes that wait for a stream or for the call core's word at most.
    public var queueCapacity = 20_000
    /// From the bytes to the answer; after it the outcome is unknown.
    public var requestTimeout = Duration.seconds(10)
    /// From the first packet to the peer's SETTINGS.
    public var connectTimeout = Duration.seconds(8)
    /// Between the starts of two connections.
    public var connectStagger = Duration.milliseconds(250)
    /// After a failed connection: doubled each time up to the cap, then spread by ±50 %.
    public var reconnectBackoff = Backoff.Limits(base: .milliseconds(500), cap: .seconds(30))
    /// How long a connection that refused a stream is left alone: doubled each time up to the cap, ±50 %.
    public var refusalBackoff = Backoff.Limits(base: .milliseconds(50), cap: .seconds(2))
    /// A connection that had to be left alone this often, without an answer between, is replaced.
    public var refusalsUntilReplaced = 8
    /// PING when nothing was read for this long while requests wait.
    public var pingAfter = Duration.seconds(3)
    /// PING when nothing was read for this long at all (Apple asks for one an hour).
    public var idlePingAfter = Duration.seconds(3600)
    /// Without an answer to a PING in this time the connection is dead.
    public var pingTimeout = Duration.seconds(3)
    public var providerToken = ProviderTokenPolicy()

    public init() {}
}

/// How long a provider token is used. Apple refuses one older than an hour, and more than one new one in 20 minutes.
public struct ProviderTokenPolicy: Equatable, Sendable {
    /// From this age on a new one is signed when it is needed next; the old one serves until it is there.
    public var refreshAge = Duration.seconds(50 * 60)
    /// From this age on it is not used any more.
    public var longestAge = Duration.seconds(58 * 60)
    /// Between two signings, whatever the reason.
    public var shortestInterval = Duration.seconds(20 * 60)

    public init() {}
}
