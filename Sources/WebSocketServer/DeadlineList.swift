/// Connections in the order in which their time runs out. All wait for the same span, so each joins at the end and
/// none is ever searched for: joining, leaving and looking at the first cost the same however many there are.
struct DeadlineList {
    // Proof for `unowned(unsafe)`: see ``DeadlineLinks``.
    private(set) unowned(unsafe) var first: WebSocketConnection?
    private unowned(unsafe) var last: WebSocketConnection?
    /// How long each waits, in milliseconds.
    let span: UInt64

    init(span: Duration) {
        let components = span.components
        self.span = UInt64(max(1, components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000))
    }

    /// When the first one's time runs out, in milliseconds of the loop's clock.
    var deadline: UInt64? { first?.links.deadline }

    mutating func append(_ connection: WebSocketConnection, now: UInt64) {
        connection.links.deadline = now + span
        connection.links.previous = last
        connection.links.next = nil
        if let last { last.links.next = connection } else { first = connection }
        last = connection
    }

    mutating func remove(_ connection: WebSocketConnection) {
        let (previous, next) = (connection.links.previous, connection.links.next)
        if let previous { previous.links.next = next } else { first = next }
        if let next { next.links.previous = previous } else { last = previous }
        connection.links.previous = nil
        connection.links.next = nil
    }
}

/// A connection's place in a ``DeadlineList``.
struct DeadlineLinks {
    // Proof for `unowned(unsafe)`: a connection is in a list only from `socketOpened` to `socketClosed`, between which
    // the library's context retains it.
    unowned(unsafe) var previous: WebSocketConnection?
    unowned(unsafe) var next: WebSocketConnection?
    var deadline: UInt64 = 0
}
