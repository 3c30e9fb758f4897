import CallVocabulary

/// The outcome of one `session.open`: the label `result` of `reveille_session_opens_total`.
enum SessionOutcome: String, CaseIterable, Sendable {
    /// A new session.
    case opened
    /// The session of an earlier socket.
    case resumed
    /// A session of a push's wake token, for its call alone.
    case woken
    /// The token is not this server's, has expired, or belongs to another device.
    case badToken = "bad_token"
    /// The connection opened no session in time.
    case notOpened = "not_opened"
    /// The core's inbox is full.
    case overloaded
    case draining
    case limitReached = "limit_reached"
    case rateLimited = "rate_limited"
    /// The user's handle is another user's alias.
    case conflict
    /// `session.open` was repeated on a connection that has a session, or while one is being opened.
    case badState = "bad_state"
    /// The call of a wake token has ended, or does not exist, or the token is not valid for it any more, as after a logout.
    case callOver = "call_over"
    /// The authorization hook refused the session.
    case denied
    /// The request is not valid, or asks for a push that this server cannot send. So is any frame that cannot be read
    /// before `session.open`.
    case invalid
    case failed

    /// Whether there is a session now.
    var isSession: Bool { self == .opened || self == .resumed || self == .woken }

    /// The outcome for a refusal.
    init(_ code: SignalError.Code, isWake: Bool) {
        switch code {
        case .unauthenticated: self = .badToken
        case .overloaded: self = .overloaded
        case .draining: self = .draining
        case .limitReached: self = .limitReached
        case .rateLimited: self = .rateLimited
        case .conflict: self = .conflict
        case .badState: self = .badState
        case .forbidden: self = isWake ? .callOver : .denied
        case .notFound, .callEnded, .alreadyAnswered: self = .callOver
        case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .tooLarge: self = .invalid
        case .internalError: self = .failed
        }
    }

    init(_ opened: SessionOpened, isWake: Bool) {
        self = opened.resumed ? .resumed : isWake ? .woken : .opened
    }
}
