/// Names one WebSocket of this process for as long as the process lives; never used again for another.
public struct ConnectionID: Hashable, Sendable {
    /// Which shard holds it.
    public let shard: Int
    /// Counts the connections of the shard.
    public let serial: UInt64

    public init(shard: Int, serial: UInt64) {
        self.shard = shard
        self.serial = serial
    }
}
