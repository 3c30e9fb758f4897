/// One batch of core output for a shard, grouped by connection, so that all messages of a connection are sent together.
struct Delivery<Connection> {
    /// The messages of one connection.
    struct Share {
        let connection: Connection
        let state: ConnectionState
        /// The index of its first message.
        let first: Int
    }

    private(set) var shares: [Share] = []
    /// For each message, the next one of the same connection; -1 after the last.
    private var following: [Int] = []

    /// Starts a batch of messages numbered from 0.
    mutating func begin(count: Int) {
        following.removeAll(keepingCapacity: true)
        following.append(contentsOf: repeatElement(-1, count: count))
    }

    /// Adds a message; call it in order.
    mutating func add(_ message: Int, to connection: Connection, _ state: ConnectionState) {
        if let last = state.lastMessage {
            following[last] = message
        } else {
            shares.append(Share(connection: connection, state: state, first: message))
        }
        state.lastMessage = message
    }

    /// The next message of the same connection.
    func message(after message: Int) -> Int? {
        following[message] < 0 ? nil : following[message]
    }

    mutating func end() {
        for share in shares { share.state.lastMessage = nil }
        shares.removeAll(keepingCapacity: true)
    }
}
