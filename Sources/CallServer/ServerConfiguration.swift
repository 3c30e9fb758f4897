import AdminServer
import CallCore
import CallVocabulary
import EventLoop
import Foundation
import LibWebSockets
import PushClient
import StoreInterface

/// Everything a server is told; each part has a default that works on one machine with nothing set up.
public struct ServerConfiguration: Sendable {
    /// The port when none is named.
    public static let standardPort: UInt16 = 7350

    /// Where clients connect.
    public var address: SocketAddress
    public var data: DataFolder
    /// Threads that carry connections. One alone, without TLS, shares the core's thread.
    public var shards: Int
    public var maxConnections = 100_000
    /// Of those, how many one IPv4 address or IPv6 network of 64 bits may have; nil for a quarter.
    public var maxConnectionsPerAddress: Int?
    /// Addresses of proxies. They have no such share, and name their clients in `X-Forwarded-For`, as proxies on this machine
    /// do.
    public var proxies: [AddressRange] = []
    public var timers = CallTimers()
    public var limits = CoreLimits()
    /// What holds for users without a policy of their own.
    public var policy = UserPolicy()
    public var connectionLimits = ConnectionLimits()
    public var push = PushService.Configuration()
    /// How long the store keeps what is over.
    public var retention = RetentionPolicy()
    public var node = "reveille"
    /// Committed records that may wait for the live picture behind the admin API, before it is loaded anew.
    var monitorCapacity = MonitorFeed.standardCapacity
    /// What administrators may ask of the process around the server.
    public var adminHooks = AdminHooks(setLogLevel: { _ in nil }, stop: {})
    /// Certificate and key of the clients' listener; nil for plain ws.
    public var tls: TLSFiles?
    /// Where administrators may connect besides the socket in the data folder; nil for nowhere.
    public var admin: AdminListenerConfiguration?
    /// Where metrics are served besides the admin socket; nil for nowhere.
    public var metrics: MetricsListenerConfiguration?
    /// How many log lines were dropped since the start, for metrics. Any thread.
    public var logLinesDropped: @Sendable () -> UInt64 = { 0 }

    public init(address: SocketAddress, data: DataFolder, shards: Int = Self.standardShards) {
        self.address = address
        self.data = data
        self.shards = shards
    }

    /// One thread for each processor that the core, the store and the push client leave free; at least one, which
    /// shares the core's unless there is TLS.
    public static var standardShards: Int { min(8, max(1, ProcessInfo.processInfo.activeProcessorCount - 1)) }
}
