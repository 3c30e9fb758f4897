import CallCore
import CallVocabulary
import EventLoop
import Foundation
import PushClient

/// Everything a server is told; each part has a default that works on one machine with nothing set up.
public struct ServerConfiguration: Sendable {
    /// The port when none is named.
    public static let standardPort: UInt16 = 7350

    /// Where clients connect.
    public var address: SocketAddress
    public var data: DataFolder
    /// Threads that carry connections.
    public var shards: Int
    public var maxConnections = 100_000
    public var timers = CallTimers()
    public var limits = CoreLimits()
    /// What holds for users without a policy of their own.
    public var policy = UserPolicy()
    public var connectionLimits = ConnectionLimits()
    public var push = PushService.Configuration()
    public var node = "reveille"

    public init(address: SocketAddress, data: DataFolder, shards: Int = Self.standardShards) {
        self.address = address
        self.data = data
        self.shards = shards
    }

    /// One thread for each processor that the core, the store and the push client leave free; at least one.
    public static var standardShards: Int { min(8, max(1, ProcessInfo.processInfo.activeProcessorCount - 1)) }
}
