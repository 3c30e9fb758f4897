import AdminServer
import CallCore
import CallVocabulary
import EventLoop
import Foundation
import LibWebSockets
import PushClient
import StoreInterface
import TLS
import WebPages
import WebSocketServer
import WebhookClient

/// The configuration of a server. The defaults work on a single machine without setup.
public struct ServerConfiguration: Sendable {
    /// The default port.
    public static let standardPort: UInt16 = 7350

    /// The address for clients.
    public var address: SocketAddress
    public var data: DataFolder
    /// The database with the store; nil for SQLite in ``data``.
    public var database: PostgresAddress?
    /// This process in the realm of ``database``; nil for a server that no other takes over from.
    var realmNode: RealmNode?
    /// The number of threads for connections. A single one, without TLS, shares the core's thread.
    public var shards: Int
    public var maxConnections = 100_000
    /// The most connections of one IPv4 address or one IPv6 /64 network; nil for a quarter of ``maxConnections``.
    public var maxConnectionsPerAddress: Int?
    /// The most unread bytes of all clients together.
    public var maxUnreadBytes = WebSocketServer.standardUnreadBytes
    /// The proxies in front. They are exempt from that limit, and tell the clients' addresses.
    public var proxies = TrustedProxies()
    /// The web pages that may connect as clients.
    public var origins = AllowedOrigins.any
    /// The embedded pages, and the files of a folder in front of them.
    public var pages = WebPages.embedded
    /// Whether the softphone's page signs in any user by name, on this machine, with a secret: ``CallServer/signInPage``.
    public var signsInByName = false
    public var timers = CallTimers()
    public var limits = CoreLimits()
    /// The policy of users that have none of their own.
    public var policy = UserPolicy()
    public var connectionLimits = ConnectionLimits()
    public var rates = RateLimits()
    public var push = PushService.Configuration()
    /// Whose user tokens open sessions.
    public var tokens = TokenConfiguration()
    /// The endpoints that get events.
    public var webhooks: [WebhookEndpoint] = []
    /// Whose requests below `/v1/backend` are answered.
    public var backendTokens: [BackendToken] = []
    /// The backend that authorizes invites; nil for none.
    public var authorization: AuthorizationConfiguration?
    /// The TURN servers that clients are told of; nil for none.
    public var turn: TurnConfiguration?
    /// How long the store keeps ended records.
    public var retention = RetentionPolicy()
    public var node = "reveille"
    /// The most committed records that wait for the monitor before it is reloaded.
    var monitorCapacity = MonitorFeed.standardCapacity
    /// Administrators' operations on the process that runs the server.
    public var adminHooks = AdminHooks(setLogLevel: { _ in nil }, stop: {})
    /// Certificate and key of the clients' listener; nil for plain ws.
    public var tls: TLSFiles?
    /// The TCP listener for administrators, besides the socket in the data folder; nil for none.
    public var admin: AdminListenerConfiguration?
    /// The TCP listener for metrics, besides the admin socket; nil for none.
    public var metrics: MetricsListenerConfiguration?
    /// The number of log lines dropped since the start, for metrics. May be called from any thread.
    public var logLinesDropped: @Sendable () -> UInt64 = { 0 }
    /// Why the log cannot be written; nil while it can. May be called from any thread.
    public var logFailure: @Sendable () -> String? = { nil }
    /// Whether the settings of the last reload were refused, so that a restart would fail. May be called from any thread.
    public var hasRefusedReload: @Sendable () -> Bool = { false }
    /// The files that the settings name and that the next start would not find, with their settings. Blocks on the disk. May
    /// be called from any thread.
    public var missingFiles: @Sendable () -> [(setting: String, path: String)] = { [] }

    public init(address: SocketAddress, data: DataFolder, shards: Int = Self.standardShards) {
        self.address = address
        self.data = data
        self.shards = shards
    }

    /// The number of processors less one, for the core, the store and the push client; between 1 and 8.
    public static var standardShards: Int { min(8, max(1, ProcessInfo.processInfo.activeProcessorCount - 1)) }
}
