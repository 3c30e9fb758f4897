/// Names one WebSocket of this process, or one exchange by plain HTTP, for as long as the process lives; never used again
/// for another.
public struct ConnectionID: Hashable, Sendable {
    /// Which shard holds it.
    public let shard: Int
    /// Counts the WebSockets of the shard up from 1, and its exchanges by HTTP down from the top.
    public let serial: UInt64

    public init(shard: Int, serial: UInt64) {
        self.shard = shard
        self.serial = serial
    }
}
