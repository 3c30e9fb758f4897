/// The numbers one pool works by. Every bound of the machine is named here.
public struct PushPolicy: Equatable, Sendable {
    /// What requests are sent with.
    public enum Credential: Equatable, Sendable {
        /// A token signed here with the key of the account (APNs `.p8`), by ``PushPolicy/providerToken``.
        case signedToken
        /// A token fetched from the provider, which says how long it is good (OAuth), by ``PushPolicy/accessToken``.
        case fetchedToken
        /// The connection's own: a client certificate. Nothing is ever signed, and the token generation is 0.
        case certificate
    }

    /// How many connections are open or being opened at most, those that drain aside; 2 at least, because a retry
    /// takes another connection than the first try.
    public var connections = 2
    /// Streams per connection at most, whatever the peer allows.
    public var streamsPerConnection = 500
    /// Pushes that are not on the wire at most, whatever they wait for.
    public var queueCapacity = 20_000
    /// How many of these may be notices.
    public var noticeCapacity = 5000
    /// From the bytes to the answer; after it the outcome is unknown.
    public var requestTimeout = Duration.seconds(10)
    /// From the first packet to the peer's SETTINGS.
    public var connectTimeout = Duration.seconds(8)
    /// Between the starts of two connections.
    public var connectStagger = Duration.milliseconds(250)
    /// After a failed connection: doubled each time up to the cap, then spread by ±50 %.
    public var reconnectBackoff = Backoff.Limits(base: .milliseconds(500), cap: .seconds(5))
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
    /// How long a device that got too many pushes is left alone, where the provider does not say: ±50 %.
    public var deviceBackoff = Backoff.Limits(base: .seconds(1), cap: .seconds(60))
    /// Devices whose back-off is remembered at most; the one that would be forgotten next makes room.
    public var throttledDevices = 10_000
    /// A device is forgotten this long after its back-off was over.
    public var throttleMemory = Duration.seconds(10 * 60)
    /// Pushes to one device that wait for the end of its back-off at most.
    public var heldPerDevice = 16
    /// How long nothing is sent after the provider has refused the whole account's pushes as too many: ±50 %.
    public var quotaBackoff = Backoff.Limits(base: .seconds(1), cap: .seconds(60))
    /// Devices refused in a row as too many, by answers that do not say whose quota it was, that make it the account's.
    public var refusalsUntilThrottled = 3
    /// What has to be left of the ring for a push that is to wait; a call that would have less is given up at once, so
    /// that its caller hears it.
    public var shortestRing = Duration.seconds(2)
    /// A provider that asks to be left alone for longer is asked again after this.
    public var longestRetryAfter = Duration.seconds(60)
    /// How long nothing is sent with a credential that is refused again and again, until one push tries it: ±50 %.
    public var circuitBackoff = Backoff.Limits(base: .seconds(1), cap: .seconds(3))
    /// How long a push waits for such a credential to be taken again.
    public var circuitPatience = Duration.seconds(10)
    /// When a notice is tried again after a failure of the server, as Apple advises; a call cannot wait for that.
    public var noticeRetryDelay = Duration.seconds(15 * 60)

    public var credential = Credential.signedToken
    public var providerToken = ProviderTokenPolicy()
    public var accessToken = AccessTokenPolicy()

    public init() {}
}

/// How long a provider token is used. Apple refuses one older than an hour, and more than one new one in 20 minutes.
public struct ProviderTokenPolicy: Equatable, Sendable {
    /// From this age on a new one is signed when it is needed next; the old one serves until it is there.
    public var refreshAge = Duration.seconds(50 * 60)
    /// From this age on it is not used any more.
    public var longestAge = Duration.seconds(58 * 60)
    /// Between two signings. One more is made within it, on new connections, when the provider refuses the token.
    public var shortestInterval = Duration.seconds(20 * 60)

    public init() {}
}

/// How long an access token is used that the provider gave out with an end of its own.
public struct AccessTokenPolicy: Equatable, Sendable {
    /// A new one is fetched, when it is needed next, this long before the end or in the last tenth of the token's life,
    /// whichever is later; the old one serves until it is there.
    public var refreshBefore = Duration.seconds(5 * 60)
    /// It is not used any more this long before its end: a request takes its time, and clocks differ.
    public var margin = Duration.seconds(10)
    /// Where the provider does not say.
    public var assumedLife = Duration.seconds(3600)
    /// After a fetch that failed: doubled each time up to the cap, ±50 %.
    public var fetchBackoff = Backoff.Limits(base: .seconds(1), cap: .seconds(10))
    /// Between two fetches that succeeded. One more is made within it when the provider refuses the token.
    public var shortestInterval = Duration.seconds(2)

    public init() {}
}
