/// The settings of one pool, with every limit of its machine.
public struct PushPolicy: Equatable, Sendable {
    /// The kind of credential that requests carry.
    public enum Credential: Equatable, Sendable {
        /// A token signed locally with the account's key (APNs `.p8`), under ``PushPolicy/providerToken``.
        case signedToken
        /// A token fetched from the provider, which sets its lifetime (OAuth), under ``PushPolicy/accessToken``.
        case fetchedToken
        /// A client certificate on the connection. No token is signed; the token generation is 0.
        case certificate
    }

    /// The most connections open or opening, without draining ones. At least 2, because a retry takes another
    /// connection.
    public var connections = 2
    /// The most streams for each connection, whatever the peer allows.
    public var streamsPerConnection = 500
    /// The most pushes that are not on the wire.
    public var queueCapacity = 20_000
    /// The most notices among them.
    public var noticeCapacity = 5000
    /// From the request to its answer; after that the outcome is unknown.
    public var requestTimeout = Duration.seconds(10)
    /// From the first packet to the peer's SETTINGS.
    public var connectTimeout = Duration.seconds(8)
    /// How long a push may wait without a connection: the first one waits for the handshake. One that is given up later
    /// failed for want of a connection.
    public var longestHandshake = Duration.seconds(2)
    /// How long a push may wait while there is a connection.
    public var longestWait = Duration.seconds(10)
    /// Between the starts of two connections.
    public var connectStagger = Duration.milliseconds(250)
    /// Delay after a failed connection: doubled each time up to the cap, ±50 %.
    public var reconnectBackoff = Backoff.Limits(base: .milliseconds(500), cap: .seconds(5))
    /// Pause of a connection that refused a stream: doubled each time up to the cap, ±50 %.
    public var refusalBackoff = Backoff.Limits(base: .milliseconds(50), cap: .seconds(2))
    /// A connection paused this often without an answer between is replaced.
    public var refusalsUntilReplaced = 8
    /// Send a PING when nothing was read for this long while requests wait.
    public var pingAfter = Duration.seconds(3)
    /// Send a PING when nothing was read for this long at all (Apple asks for one an hour).
    public var idlePingAfter = Duration.seconds(3600)
    /// A connection that does not answer a PING in this time is dead.
    public var pingTimeout = Duration.seconds(3)
    /// Backoff of a throttled device, without the provider's `Retry-After`: ±50 %.
    public var deviceBackoff = Backoff.Limits(base: .seconds(1), cap: .seconds(60))
    /// The most devices whose backoff is remembered; a new one replaces the one that would expire next.
    public var throttledDevices = 10_000
    /// How long after its backoff a device is remembered.
    public var throttleMemory = Duration.seconds(10 * 60)
    /// The most pushes held for one throttled device.
    public var heldPerDevice = 16
    /// Backoff of a throttled account: ±50 %.
    public var quotaBackoff = Backoff.Limits(base: .seconds(1), cap: .seconds(60))
    /// Devices of how many users in a row must be throttled, by answers that do not tell whose quota it was, to throttle
    /// the account.
    public var refusalsUntilThrottled = 3
    /// The ring time that must be left when a wait ends. A call with less is given up at once, so that its caller is
    /// told.
    public var shortestRing = Duration.seconds(2)
    /// The longest `Retry-After` that is honoured.
    public var longestRetryAfter = Duration.seconds(60)
    /// How long a circuit stays open before a push probes it: ±50 %.
    public var circuitBackoff = Backoff.Limits(base: .seconds(1), cap: .seconds(3))
    /// How long a push waits for an open circuit.
    public var circuitPatience = Duration.seconds(10)
    /// Delay of a notice's retry after a server error, as Apple advises; a call cannot wait so long.
    public var noticeRetryDelay = Duration.seconds(15 * 60)

    public var credential = Credential.signedToken
    /// Whether devices choose the service, and with it the answers, as in Web Push. A refused credential then counts once
    /// for each user, and costs no connection: the service judges the token of each request (RFC 8292). It opens no
    /// circuit: anybody can register devices that the service refuses.
    public var isChosenByDevices = false
    /// Whether an answer may leave open whose quota is used up, as those of FCM and of Web Push services.
    @inline(__always) var mayInferQuota: Bool { isChosenByDevices || credential == .fetchedToken }
    public var providerToken = ProviderTokenPolicy()
    public var accessToken = AccessTokenPolicy()

    public init() {}
}

/// The lifetime of a signed provider token. Apple refuses tokens older than an hour, and more than one new token in 20
/// minutes.
public struct ProviderTokenPolicy: Equatable, Sendable {
    /// From this age on a new token is signed when one is needed; the old one is used until then.
    public var refreshAge = Duration.seconds(50 * 60)
    /// From this age on the token is not used.
    public var longestAge = Duration.seconds(58 * 60)
    /// The shortest time between two signings. One more is made within it, on new connections, when the provider
    /// refuses the token.
    public var shortestInterval = Duration.seconds(20 * 60)

    public init() {}
}

/// The use of a fetched access token, whose expiry the provider sets.
public struct AccessTokenPolicy: Equatable, Sendable {
    /// A new token is fetched on demand from this long before the expiry, or in the last tenth of the lifetime,
    /// whichever is later. The old one is used until then.
    public var refreshBefore = Duration.seconds(5 * 60)
    /// The token is not used for this long before its expiry: requests take time, and clocks differ.
    public var margin = Duration.seconds(10)
    /// The lifetime of a token whose expiry the provider does not tell.
    public var assumedLife = Duration.seconds(3600)
    /// Delay after a failed fetch: doubled each time up to the cap, ±50 %.
    public var fetchBackoff = Backoff.Limits(base: .seconds(1), cap: .seconds(10))
    /// The shortest time between two successful fetches. One more is made within it when the provider refuses the
    /// token.
    public var shortestInterval = Duration.seconds(2)

    public init() {}
}
