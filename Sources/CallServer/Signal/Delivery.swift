/// What the core has for a shard at one time, in the order in which it is written: all messages of one connection one
/// after the other, so that they leave together.
struct Delivery<Connection> {
    /// The messages of one connection.
    struct Share {
        let connection: Connection
        let state: ConnectionState
        /// Its first message.
        let first: Int
    }

    private(set) var shares: [Share] = []
    /// By message: the next one of the same connection; -1 behind the last.
    private var following: [Int] = []

    /// For messages that are numbered from 0.
    mutating func begin(count: Int) {
        following.removeAll(keepingCapacity: true)
        following.append(contentsOf: repeatElement(-1, count: count))
    }

    /// To be called for the messages in order.
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
