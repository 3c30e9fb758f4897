import CallVocabulary

/// A command that waits for a session, then for its reply.
struct OutboxItem: Equatable, Sendable {
    let id: Int64
    let request: ClientRequest
    let ticket: CommandTicket?
    /// Until when the command may wait for a session.
    let waitsUntil: Duration
    /// When it was sent over the present connection.
    var sentAt: Duration?
    /// Whether an earlier connection carried it, so that the server may know of it.
    var wasSent = false
    /// The end of the server's retry delay: not sent again before.
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

    /// Whether to retry after a temporary refusal. For other commands the caller decides.
    var isRepeatedWhenRefused: Bool {
        if case .call(.get) = request, ticket == nil { true } else { request.persistence == .kept }
    }

    /// Whether it is still unsent, and worth sending before going offline.
    var isUnsaid: Bool { sentAt == nil && request.persistence == .kept }
}

extension ClientRequest {
    /// The handling of a command without a connection.
    enum Persistence {
        /// Waits for `keepTime`, and is repeated on a new connection. It is idempotent and useful even when late;
        /// without it the server's state would be wrong.
        case kept
        /// Waits as long as for a reply, and is repeated within that time.
        case waiting
        /// Waits like `waiting`, and is not repeated, because it is not idempotent.
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

    /// Whether the reply tells whether the call lives, and how it ended.
    var tellsHowCallStands: Bool {
        switch self {
        case .call(.answer), .call(.get), .call(.hangup), .call(.decline): true
        case .open, .session, .call, .owner: false
        }
    }
}
