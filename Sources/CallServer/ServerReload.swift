import CallCore
import CallVocabulary
import LibWebSockets
import PushClient
import TLS
import WebSocketServer
import WebhookClient

/// New settings for a running server; nil keeps the present value. A reload ends no call, and no session but those of
/// keys of user tokens that are gone.
public struct ServerReload: Sendable {
    /// The new certificate of the clients' listener, which must have started with TLS.
    public var tls: TLSFiles?
    /// New credentials, endpoints and texts; unchanged parts are not touched.
    public var push: PushService.Configuration?
    /// New keys of user tokens. Open sessions go on, except those of a key that is gone.
    public var tokens: TokenConfiguration?
    /// The new endpoints. One that keeps its name goes on where it is; a new one gets the events from now on.
    public var webhooks: [WebhookEndpoint]?
    /// All tokens of backends. Requests in progress go on.
    public var backendTokens: [BackendToken]?
    /// Applies to further invites; `.some(nil)` for none any more.
    public var authorization: AuthorizationConfiguration??
    /// Applies to all further credentials; `.some(nil)` for none any more.
    public var turn: TurnConfiguration??
    /// Applies to present connections too, from their next message on.
    public var connectionLimits: ConnectionLimits?
    /// Applies at once; what was used before counts on.
    public var rates: RateLimits?
    /// Applies to new connections. ``maxConnectionsPerAddress`` and ``proxies`` are applied only if this is set.
    public var maxConnections: Int?
    /// nil for a quarter of ``maxConnections``.
    public var maxConnectionsPerAddress: Int?
    public var maxUnreadBytes: Int?
    public var proxies = TrustedProxies()
    /// Lower limits end nothing that exists.
    public var limits: CoreLimits?
    /// Running deadlines are kept.
    public var timers: CallTimers?
    /// The policy of users that have none of their own.
    public var policy: UserPolicy?
    /// The bearer token of the admin API, which must have a TCP listener. Connections with another token end.
    @Secret public var adminToken: String?
    /// Goes with ``adminToken``; nil for none.
    @Secret public var adminReadToken: String?
    /// The new certificate of the admin API, which must have started with TLS.
    public var adminTLS: TLSFiles?

    public init(
        tls: TLSFiles? = nil, push: PushService.Configuration? = nil, connectionLimits: ConnectionLimits? = nil,
        maxConnections: Int? = nil, limits: CoreLimits? = nil, timers: CallTimers? = nil, policy: UserPolicy? = nil,
        adminToken: String? = nil, adminReadToken: String? = nil, adminTLS: TLSFiles? = nil
    ) {
        self.tls = tls
        self.push = push
        self.connectionLimits = connectionLimits
        self.maxConnections = maxConnections
        self.limits = limits
        self.timers = timers
        self.policy = policy
        self.adminToken = adminToken
        self.adminReadToken = adminReadToken
        self.adminTLS = adminTLS
    }

    /// A checked reload with all files read: applying it cannot fail.
    struct Checked: Sendable {
        let certificate: TLSCertificate?
        let push: PushService.Reload?
        let adminToken: BearerToken?
        let adminReadToken: BearerToken?
        let adminCertificate: TLSCertificate?
    }

    /// Reads the files and checks everything without changing anything, except that the VAPID key is made if there
    /// is none. Blocks on the disk.
    /// - Parameter folder: has the VAPID key.
    /// - Throws: ``ServerConfigurationError``, `TLSCertificate.Failure`, `DataFolder.Failure` or
    ///   `PushConfigurationError`.
    func checked(in folder: DataFolder) throws -> Checked {
        try checkNumbers()
        return Checked(
            certificate: try tls.map { try TLSCertificate($0) },
            push: try push.map { try PushService.Reload(folder.completed($0)) },
            adminToken: try adminToken.map { try AdminListenerConfiguration.check($0) },
            adminReadToken: try adminReadToken.map { try AdminListenerConfiguration.check($0) },
            adminCertificate: try adminTLS.map { try TLSCertificate($0) })
    }

    private func checkNumbers() throws(ServerConfigurationError) {
        let problems: [(String, String?)] = [
            ("limits", limits?.problem), ("timers", timers?.problem), ("connection_limits", connectionLimits?.problem),
            ("rates", rates?.problem),
            ("max_connections", (maxConnections ?? 1) < 1 ? "there is at least 1" : nil),
        ]
        for case (let field, let problem?) in problems {
            throw ServerConfigurationError(field: field, problem: problem)
        }
    }
}

extension ConnectionLimits {
    /// Why these limits are unusable, as text; nil when they are valid.
    var problem: String? {
        if openWithin <= .zero { return "open_within has to be longer than 0" }
        if !(messagesPerSecond > 0) { return "messages_per_second has to be more than 0" }
        if !(burst >= 1) { return "burst is at least 1" }
        return refusalsUntilAbuse < 1 ? "refusals_until_abuse is at least 1" : nil
    }
}
