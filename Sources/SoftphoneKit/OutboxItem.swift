import CallVocabulary

/// A command on its way: waits for a session, then for its answer.
struct OutboxItem: Equatable, Sendable {
    enum Payload: Equatable, Sendable {
        case request(id: Int64, ClientRequest)
        /// Not answered: gone once it is sent.
        case candidates(CallCandidates)
    }

    let payload: Payload
    let ticket: CommandTicket?
    /// Until when it may wait for a session.
    let waitsUntil: Duration
    /// When it was sent over the connection at hand.
    var sentAt: Duration?
    /// Whether an earlier connection carried it: the server may know of it.
    var wasSent = false

    func deadline(requestTimeout: Duration) -> Duration {
        sentAt.map { $0 + requestTimeout } ?? waitsUntil
    }

    /// The call it is about.
    var call: CallID? {
        switch payload {
        case .request(_, let request): request.call
        case .candidates(let candidates): candidates.call
        }
    }

    var request: ClientRequest? {
        if case .request(_, let request) = payload { request } else { nil }
    }
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
        case .answer, .decline, .hangup, .ringing, .connected, .report, .updateDevice, .state: .kept
        case .open, .close, .logout, .invite, .get, .list, .clearMissed: .waiting
        case .update: .once
        }
    }

    /// The call it is about.
    var call: CallID? {
        switch self {
        case .invite(let invite): invite.call
        case .ringing(let call), .answer(let call, _), .decline(let call, _), .connected(let call),
            .hangup(let call, _), .get(let call):
            call
        case .update(let update): update.call
        case .report(let report): report.call
        case .open, .state, .close, .logout, .updateDevice, .list, .clearMissed: nil
        }
    }
}
