/// Connections of which lws holds bytes that the kernel has not taken. When the peer of such a one ends its half, lws
/// 4.1 waits 5 s for the bytes to go and tells nobody, while the end of what can be read has the loop turn without a
/// pause. So one of them is looked at in each turn: the faster it turns, the sooner the one is found.
struct BlockedConnections {
    // Proof for `unowned(unsafe)`: `remove` is called when one closes, until which the library's context retains it.
    private struct Entry {
        unowned(unsafe) let connection: WebSocketConnection
    }

    private var entries: [Entry] = []
    private var next = 0

    var isEmpty: Bool { entries.isEmpty }

    mutating func insert(_ connection: WebSocketConnection) {
        guard connection.blockedIndex == nil else { return }
        connection.blockedIndex = entries.count
        entries.append(Entry(connection: connection))
    }

    mutating func remove(_ connection: WebSocketConnection) {
        guard let index = connection.blockedIndex else { return }
        connection.blockedIndex = nil
        let last = entries.removeLast().connection
        guard last !== connection else { return }
        entries[index] = Entry(connection: last)
        last.blockedIndex = index
    }

    /// Looks at the next one, which leaves if it is not blocked any more.
    /// - Returns: it, if its peer sends nothing more.
    mutating func ended() -> WebSocketConnection? {
        guard !entries.isEmpty else { return nil }
        if next >= entries.count { next = 0 }
        let connection = entries[next].connection
        next += 1
        guard connection.isBlocked else {
            remove(connection)
            return nil
        }
        guard connection.peerHasEnded else { return nil }
        remove(connection)
        return connection
    }
}
