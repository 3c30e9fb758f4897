/// Identifies one WebSocket or one plain HTTP exchange of this process; ids are not reused.
public struct ConnectionID: Hashable, Sendable {
    /// The shard that holds the connection.
    public let shard: Int
    /// Counts up from 1 for the shard's WebSockets, and down from the maximum for its HTTP exchanges.
    public let serial: UInt64

    public init(shard: Int, serial: UInt64) {
        self.shard = shard
        self.serial = serial
    }
}
