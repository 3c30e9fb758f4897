import CallVocabulary

/// A command on its way: waits for a session, then for its answer.
struct OutboxItem: Equatable, Sendable {
    let id: Int64
    let request: ClientRequest
    let ticket: CommandTicket?
    /// Until when it may wait for a session.
    let waitsUntil: Duration
    /// When it was sent over the connection at hand.
    var sentAt: Duration?
    /// Whether an earlier connection carried it: the server may know of it.
    var wasSent = false
    /// The server had no time for it: not to be said again before.
    var heldUntil: Duration?

    init(id: Int64, request: ClientRequest, ticket: CommandTicket?, waitsUntil: Duration) {
        self.id = id
        self.request = request
        self.ticket = ticket
        self.waitsUntil = waitsUntil
    }

    func deadline(requestTimeout: Duration) -> Duration {
        sentAt.map { $0 + requestTimeout } ?? waitsUntil
    }

    /// Whether it may be said again after a refusal for the moment. Whoever waits for the outcome of another command
    /// decides that himself.
    var isRepeatedWhenRefused: Bool {
        if case .call(.get) = request, ticket == nil { true } else { request.persistence == .kept }
    }

    /// Whether it is still to be said, and worth saying before going offline.
    var isUnsaid: Bool { sentAt == nil && request.persistence == .kept }
}

extension ClientRequest {
    /// How a command fares without a connection.
    enum Persistence {
        /// Waits for `keepTime`, and is repeated on a new connection: said late or twice it does no harm, and left
        /// unsaid it leaves the server with a wrong picture.
        case kept
        /// Waits as long as for an answer, and is repeated within that time.
        case waiting
        /// Waits like `waiting`, and is not repeated, because twice is not the same as once.
        case once
    }

    var persistence: Persistence {
        switch self {
        case .call(.report), .call(.ringing), .call(.answer), .call(.decline), .call(.connected), .call(.hangup),
            .session(.state), .owner(.updateDevice):
            .kept
        case .open, .session(.close), .call(.get), .owner(.logout), .owner(.invite), .owner(.list),
            .owner(.clearMissed):
            .waiting
        case .call(.update): .once
        }
    }

    /// Whether the user wants the call over with it.
    var endsCall: Bool {
        switch self {
        case .call(.hangup), .call(.decline): true
        case .open, .session, .call, .owner: false
        }
    }
}
