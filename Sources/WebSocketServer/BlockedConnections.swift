/// Connections of which lws holds bytes that the kernel has not taken.
///
/// When the peer of such a one ends its half, or breaks the protocol, lws 4.1 waits 5 s for the bytes to go, tells nobody
/// and does not read any more, while what can be read has the loop turn without a pause. So one of them is looked at in each
/// turn: the faster it turns, the sooner the one is found.
struct BlockedConnections {
    /// In so many turns at which one is looked at, lws reads what is there.
    private static let patience = 64

    // Proof for `unowned(unsafe)`: `remove` is called when one closes, until which the library's context retains it.
    private struct Entry {
        unowned(unsafe) let connection: WebSocketConnection
        /// What was there to be read when it was last looked at, and at how many looks before in a row.
        var unread = 0
        var looks = 0
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

    /// lws has read from it.
    mutating func heard(_ connection: WebSocketConnection) {
        if let index = connection.blockedIndex { entries[index].looks = 0 }
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
        defer { next += 1 }
        guard let unread = connection.unreadBytes else { return connection }
        entries[next].looks = unread > 0 && unread == entries[next].unread ? entries[next].looks + 1 : 0
        entries[next].unread = unread
        return entries[next].looks >= Self.patience ? connection : nil
    }
}
