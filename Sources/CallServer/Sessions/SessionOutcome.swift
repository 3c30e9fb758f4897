import CallVocabulary

/// What came of one `session.open`: the label `result` of `reveille_session_opens_total`.
enum SessionOutcome: String, CaseIterable, Sendable {
    /// A session that was not there before.
    case opened
    /// The session that a socket before had.
    case resumed
    /// With a push's wake token, for its call alone.
    case woken
    /// The token is none of this server's, has expired, or is not the device's.
    case badToken = "bad_token"
    /// The connection opened no session in time.
    case notOpened = "not_opened"
    /// The core is behind.
    case overloaded
    case draining
    case limitReached = "limit_reached"
    case rateLimited = "rate_limited"
    /// The user's handle is another user's alias.
    case conflict
    /// Sent again on a connection that has a session, or while one is being opened.
    case badState = "bad_state"
    /// The call of a wake token is over, or not there.
    case callOver = "call_over"
    case invalid
    case failed

    /// What a refusal comes to.
    init(_ code: SignalError.Code) {
        switch code {
        case .unauthenticated: self = .badToken
        case .overloaded: self = .overloaded
        case .draining: self = .draining
        case .limitReached: self = .limitReached
        case .rateLimited: self = .rateLimited
        case .conflict: self = .conflict
        case .badState: self = .badState
        case .forbidden, .notFound, .callEnded, .alreadyAnswered: self = .callOver
        case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .tooLarge: self = .invalid
        case .internalError: self = .failed
        }
    }

    init(_ opened: SessionOpened, isWake: Bool) {
        self = opened.resumed ? .resumed : isWake ? .woken : .opened
    }
}
