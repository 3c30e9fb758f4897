/// Connections of which lws holds bytes that the kernel has not taken.
///
/// When the peer of such a one ends its half, lws 4.1 waits 5 s for the bytes to go and tells nobody, while the end of what
/// can be read has the loop turn without a pause. So one of them is looked at in each turn: the faster it turns, the sooner
/// the one is found.
struct BlockedConnections {
    // Proof for `unowned(unsafe)`: `remove` is called when one closes, until which the library's context retains it.
    private struct Entry {
        unowned(unsafe) let connection: WebSocketConnection
    }

    private var entries: [Entry] = []
    private var next = 0
    private var lastTurn: UInt64 = 0

    mutating func insert(_ connection: WebSocketConnection) {
        guard connection.blockedIndex == nil else { return }
        connection.blockedIndex = entries.count
        entries.append(Entry(connection: connection))
    }

    mutating func remove(_ connection: WebSocketConnection) {
        guard let index = connection.blockedIndex else { return }
        connection.blockedIndex = nil
        let last = entries.removeLast()
        guard last.connection !== connection else { return }
        entries[index] = last
        last.connection.blockedIndex = index
    }

    /// Looks at the next one, once a turn. It leaves if it is not blocked any more.
    /// - Returns: it, if it has to be cut. It comes again until it is closed: lws forgets of a cut when it sees the end
    ///   itself.
    mutating func ended(inTurn turn: UInt64) -> WebSocketConnection? {
        guard !entries.isEmpty, turn != lastTurn else { return nil }
        lastTurn = turn
        if next >= entries.count { next = 0 }
        let connection = entries[next].connection
        guard connection.isBlocked else {
            remove(connection)
            return nil
        }
        next += 1
        return connection.peerHasEnded ? connection : nil
    }
}
