/// Sockets sorted by deadline. All have the same timeout, so a socket is appended at the end. Every operation takes
/// constant time.
package struct DeadlineList {
    // Proof for `unowned(unsafe)`: see ``DeadlineLinks``.
    package private(set) unowned(unsafe) var first: ServerSocket?
    private unowned(unsafe) var last: ServerSocket?
    /// The timeout of each socket, in milliseconds.
    package let span: UInt64
    /// The index in a socket's `links` that this list uses.
    private let place: Int

    /// - Parameter place: 0 to 2. A socket is in at most one of the lists with the same place.
    package init(span: Duration, place: Int = 0) {
        let components = span.components
        self.span = UInt64(max(1, components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000))
        self.place = place
    }

    /// The first socket's deadline, in milliseconds of the loop's clock.
    package var deadline: UInt64? { first?.links[place].deadline }

    /// The sockets whose deadline has passed, in order.
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

/// A socket's links in a ``DeadlineList``.
package struct DeadlineLinks {
    // Proof for `unowned(unsafe)`: a socket is in a list only from `socketAdopted` to `socketReleased`. The library's
    // connection retains it for that time.
    unowned(unsafe) var previous: ServerSocket?
    unowned(unsafe) var next: ServerSocket?
    var deadline: UInt64 = 0
}
