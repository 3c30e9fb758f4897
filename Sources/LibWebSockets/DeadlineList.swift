/// Sockets in the order in which their time runs out. All wait for the same span, so each joins at the end and none is
/// ever searched for: joining, leaving and looking at the first cost the same however many there are.
package struct DeadlineList {
    // Proof for `unowned(unsafe)`: see ``DeadlineLinks``.
    package private(set) unowned(unsafe) var first: ServerSocket?
    private unowned(unsafe) var last: ServerSocket?
    /// How long each waits, in milliseconds.
    package let span: UInt64
    /// Which of a socket's places this list uses.
    private let place: Int

    /// - Parameter place: 0 or 1. A socket may be in one list of each at a time.
    package init(span: Duration, place: Int = 0) {
        let components = span.components
        self.span = UInt64(max(1, components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000))
        self.place = place
    }

    /// When the first one's time runs out, in milliseconds of the loop's clock.
    package var deadline: UInt64? { first?.links[place].deadline }

    /// Those whose time has run out, the first one first.
    package func due(at now: UInt64) -> [ServerSocket] {
        var found: [ServerSocket] = []
        var next = first
        while let socket = next, socket.links[place].deadline <= now {
            found.append(socket)
            next = socket.links[place].next
        }
        return found
    }

    package mutating func append(_ socket: ServerSocket, now: UInt64) {
        socket.links[place] = DeadlineLinks(previous: last, deadline: now + span)
        if let last { last.links[place].next = socket } else { first = socket }
        last = socket
    }

    package mutating func remove(_ socket: ServerSocket) {
        let (previous, next) = (socket.links[place].previous, socket.links[place].next)
        if let previous { previous.links[place].next = next } else { first = next }
        if let next { next.links[place].previous = previous } else { last = previous }
        socket.links[place] = DeadlineLinks()
    }
}

/// A socket's place in a ``DeadlineList``.
package struct DeadlineLinks {
    // Proof for `unowned(unsafe)`: a socket is in a list only from `socketAdopted` to `socketReleased`, between which the
    // library's connection retains it.
    unowned(unsafe) var previous: ServerSocket?
    unowned(unsafe) var next: ServerSocket?
    var deadline: UInt64 = 0
}
